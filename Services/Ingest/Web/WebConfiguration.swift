import ServiceKit

/// What ingest tells browsers about the web client.
struct WebConfiguration: Sendable {
    /// Whether the page is served at `/`.
    let isServed: Bool
    /// Where the WebSocket is, if not at the page's own origin.
    let socketURL: String?
    /// The origins whose pages may embed the page and give it tokens by `postMessage`.
    let origins: [String]

    init(environment: inout Environment) throws(ConfigurationError) {
        isServed = try environment.flag("PARLEY_WEB", default: false)
        socketURL = try Self.checked(
            environment.optionalString("PARLEY_SOCKET_URL"), "PARLEY_SOCKET_URL", schemes: ["ws://", "wss://"])
        let list = environment.optionalString("PARLEY_WEB_ORIGINS") ?? ""
        origins = list.split { $0 == "," || $0 == " " }.map(String.init)
        for origin in origins where !Self.isURL(origin, ["http://", "https://"]) || Self.origin(of: origin) != origin {
            throw ConfigurationError(
                "PARLEY_WEB_ORIGINS", "must list origins such as https://app.example, not \"\(origin)\"")
        }
    }

    /// The origin of `socketURL`, as a policy names it.
    var socketOrigin: String? { socketURL.map(Self.origin) }

    private static func checked(
        _ url: String?, _ name: String, schemes: [String]
    ) throws(ConfigurationError) -> String? {
        guard let url, !isURL(url, schemes) else { return url }
        throw ConfigurationError(name, "must be a URL that begins with \(schemes.joined(separator: " or "))")
    }

    /// Only what can stand in a policy and an attribute without being quoted.
    private static func isURL(_ text: String, _ schemes: [String]) -> Bool {
        let allowed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"):
                true
            default: "-._~:/[]%".utf8.contains(byte)
            }
        }
        return allowed && schemes.contains { text.hasPrefix($0) && text.count > $0.count }
    }

    private static func origin(of url: String) -> String {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.prefix(3).joined(separator: "/")
    }
}
