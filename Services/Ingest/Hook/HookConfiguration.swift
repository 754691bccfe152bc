import Models
import ServiceKit

/// Whom to ask before something is done for a user, and how.
struct HookConfiguration: Sendable {
    let url: String
    /// Two while the application changes from one to the other: it gets a signature by each.
    let secrets: [HookSecret]
    /// Whether it is done without an answer.
    let failsOpen: Bool
    let timeout: Duration
    /// Certificates of authorities that are trusted instead of the machine's.
    let authorities: String?

    private static let longestTimeout = Duration.seconds(1)
    private static let shortestTimeout = Duration.milliseconds(50)

    /// What a hook is configured by.
    private struct Variables {
        let url: String
        let secret: String
        let timeout: String
        let authorities: String
    }

    /// Before a message is stored.
    static func ofMessages(_ environment: inout Environment) throws(ConfigurationError) -> HookConfiguration? {
        let failsOpen = try failsOpen(environment.optionalString("PARLEY_MESSAGE_HOOK_FAILS"))
        let variables = Variables(
            url: "PARLEY_MESSAGE_HOOK", secret: "PARLEY_MESSAGE_HOOK_SECRET", timeout: "PARLEY_MESSAGE_HOOK_TIMEOUT",
            authorities: "PARLEY_MESSAGE_HOOK_CA_FILE")
        let secret = try environment.secret("PARLEY_MESSAGE_HOOK_SECRET")
        let hook = try HookConfiguration(variables, secret, failsOpen: failsOpen ?? false, &environment)
        guard (hook == nil) == (failsOpen == nil) else {
            throw hook == nil
                ? Self.isAlone(variables)
                : ConfigurationError("PARLEY_MESSAGE_HOOK_FAILS", "must be set with PARLEY_MESSAGE_HOOK")
        }
        return hook
    }

    /// Before somebody is brought into a conversation. Without an answer nobody is.
    static func ofMembers(_ environment: inout Environment, _ requests: MessageRequests) throws(ConfigurationError)
        -> HookConfiguration?
    {
        let variables = Variables(
            url: "PARLEY_CONSENT_HOOK", secret: "PARLEY_CONSENT_HOOK_SECRET", timeout: "PARLEY_CONSENT_HOOK_TIMEOUT",
            authorities: "PARLEY_CONSENT_HOOK_CA_FILE")
        let secret = try environment.secret("PARLEY_CONSENT_HOOK_SECRET")
        let hook = try HookConfiguration(variables, secret, failsOpen: false, &environment)
        // The application may say that somebody is asked, and clients show requests only if there can be some.
        guard hook == nil || requests == .strangers else {
            throw ConfigurationError("PARLEY_MESSAGE_REQUESTS", "must be strangers with PARLEY_CONSENT_HOOK")
        }
        return hook
    }

    /// Somebody believes that the application is asked.
    private static func isAlone(_ variables: Variables) -> ConfigurationError {
        ConfigurationError(variables.url, "must be set with the other variables of the hook")
    }

    /// Nil: nobody is asked.
    private init?(_ variables: Variables, _ secret: String?, failsOpen: Bool, _ environment: inout Environment)
        throws(ConfigurationError)
    {
        let url = environment.optionalString(variables.url)
        guard url.map(Self.isAddress) ?? true else {
            throw ConfigurationError(
                variables.url,
                "must be https:// or http://, a name, maybe a port, and a path, without user, password and fragment")
        }
        let secrets = try Self.secrets(secret, variables)
        timeout = try environment.duration(variables.timeout, default: Self.longestTimeout)
        guard Self.shortestTimeout...Self.longestTimeout ~= timeout else {
            throw ConfigurationError(variables.timeout, "must be from 50ms to 1s")
        }
        authorities = environment.optionalString(variables.authorities)
        if let authorities, readFile(authorities, upTo: 1)?.isEmpty ?? true {
            throw ConfigurationError(variables.authorities, "must name a readable file of certificates")
        }
        guard let url else {
            guard secrets.isEmpty else { throw Self.isAlone(variables) }
            return nil
        }
        guard !secrets.isEmpty else {
            throw ConfigurationError(variables.secret, "or \(variables.secret)_FILE must be set")
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

    private static func secrets(_ text: String?, _ variables: Variables) throws(ConfigurationError) -> [HookSecret] {
        guard let text else { return [] }
        let secrets = text.split(whereSeparator: \.isWhitespace).compactMap { HookSecret(String($0)) }
        guard 1...2 ~= secrets.count, secrets.count == text.split(whereSeparator: \.isWhitespace).count else {
            throw ConfigurationError(
                variables.secret,
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
