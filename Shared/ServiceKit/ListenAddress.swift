/// The address that a server listens at: a numeric host and a port.
public struct ListenAddress: Equatable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    public let host: String
    public let port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `127.0.0.1:8080`, `[::1]:8080` or `*:8080` (every address).
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.init(host: host == "*" ? "0.0.0.0" : String(host), port: port)
    }

    public init(stringLiteral text: String) {
        guard let address = ListenAddress(text) else { preconditionFailure("\(text) is address:port") }
        self = address
    }

    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
