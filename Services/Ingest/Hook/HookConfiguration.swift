import ServiceKit

/// Whom to ask before a message is stored, and how.
struct HookConfiguration: Sendable {
    let url: String
    /// Two while the application changes from one to the other: it gets a signature by each.
    let secrets: [HookSecret]
    /// Whether a message is stored that could not be asked about.
    let failsOpen: Bool
    let timeout: Duration
    /// Certificates of authorities that are trusted instead of the machine's.
    let authorities: String?

    private static let longestTimeout = Duration.seconds(1)
    private static let shortestTimeout = Duration.milliseconds(50)

    /// Nil: nobody is asked.
    init?(environment: inout Environment) throws(ConfigurationError) {
        let url = environment.optionalString("PARLEY_MESSAGE_HOOK")
        guard url.map(Self.isAddress) ?? true else {
            throw ConfigurationError(
                "PARLEY_MESSAGE_HOOK",
                "must be https:// or http://, a name, maybe a port, and a path, without user, password and fragment")
        }
        let secrets = try Self.secrets(environment.secret("PARLEY_MESSAGE_HOOK_SECRET"))
        let failsOpen = try Self.failsOpen(environment.optionalString("PARLEY_MESSAGE_HOOK_FAILS"))
        timeout = try environment.duration("PARLEY_MESSAGE_HOOK_TIMEOUT", default: Self.longestTimeout)
        guard Self.shortestTimeout...Self.longestTimeout ~= timeout else {
            throw ConfigurationError("PARLEY_MESSAGE_HOOK_TIMEOUT", "must be from 50ms to 1s")
        }
        authorities = environment.optionalString("PARLEY_MESSAGE_HOOK_CA_FILE")
        if let authorities, readFile(authorities, upTo: 1)?.isEmpty ?? true {
            throw ConfigurationError("PARLEY_MESSAGE_HOOK_CA_FILE", "must name a readable file of certificates")
        }
        guard let url else {
            // Somebody believes that messages are looked at.
            guard secrets.isEmpty, failsOpen == nil else {
                throw ConfigurationError("PARLEY_MESSAGE_HOOK", "must be set with the other variables of the hook")
            }
            return nil
        }
        guard !secrets.isEmpty else {
            throw ConfigurationError("PARLEY_MESSAGE_HOOK_SECRET", "or PARLEY_MESSAGE_HOOK_SECRET_FILE must be set")
        }
        guard let failsOpen else {
            throw ConfigurationError("PARLEY_MESSAGE_HOOK_FAILS", "must be set with PARLEY_MESSAGE_HOOK")
        }
        (self.url, self.secrets, self.failsOpen) = (url, secrets, failsOpen)
    }

    private static func failsOpen(_ text: String?) throws(ConfigurationError) -> Bool? {
        switch text {
        case nil: return nil
        case "open": return true
        case "closed": return false
        default:
            throw ConfigurationError(
                "PARLEY_MESSAGE_HOOK_FAILS",
                "must be open (messages are stored without an answer) or closed (they are not)")
        }
    }

    private static func secrets(_ text: String?) throws(ConfigurationError) -> [HookSecret] {
        guard let text else { return [] }
        let secrets = text.split(whereSeparator: \.isWhitespace).compactMap { HookSecret(String($0)) }
        guard 1...2 ~= secrets.count, secrets.count == text.split(whereSeparator: \.isWhitespace).count else {
            throw ConfigurationError(
                "PARLEY_MESSAGE_HOOK_SECRET",
                "must be whsec_ and 24 to 64 bytes in base64, or two of them with a space or a line break between them")
        }
        return secrets
    }

    static func isAddress(_ url: String) -> Bool {
        let rest: Substring
        if url.hasPrefix("https://") {
            rest = url.dropFirst(8)
        } else if url.hasPrefix("http://") {
            rest = url.dropFirst(7)
        } else {
            return false
        }
        let host = rest.prefix { !"/?".contains($0) }
        return url.utf8.count <= 2_000 && url.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"\"<>\\^`{|}#".utf8.contains($0) }
            && isHost(host)
    }

    /// A name or an address, of IPv6 in brackets, and maybe a port.
    private static func isHost(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, first != UInt8(ascii: ":") else { return false }
        let isInBrackets = text.hasPrefix("[")
        guard !isInBrackets || text.contains("]") else { return false }
        let name = isInBrackets ? text.prefix { $0 != "]" }.dropFirst() : text.prefix { $0 != ":" }
        let after = text.dropFirst(isInBrackets ? name.count + 2 : name.count)
        let isPort = after.isEmpty || after.hasPrefix(":") && UInt16(after.dropFirst()).map { $0 > 0 } ?? false
        return !name.isEmpty && isPort
            && name.utf8.allSatisfy {
                0x30...0x3A ~= $0 || 0x61...0x7A ~= $0 | 0x20 || "-._".utf8.contains($0)
            }
    }
}
