import CLinux
import Glibc

/// The address of a service: `http://127.0.0.1:8080`, `wss://chat.example/v1/socket`.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    public let scheme: String
    /// The host as written, with an IPv6 address in brackets.
    public let host: String
    public let port: Int
    /// The path with its leading slash, or empty when none was given.
    public let path: String

    /// - Parameter scheme: the scheme without TLS. The same scheme with an `s` appended is also accepted.
    public init(_ text: String, scheme: String) throws(InvalidEndpoint) {
        guard let url = Self.parse(text), url.scheme == scheme || url.scheme == scheme + "s" else {
            throw InvalidEndpoint(text: text, scheme: scheme)
        }
        self = url
    }

    private init(scheme: String, host: String, port: Int, path: String) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    private static func parse(_ text: String) -> Endpoint? {
        guard let separator = text.firstRange(of: "://") else { return nil }
        let rest = text[separator.upperBound...]
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let (authority, path) = (rest[..<slash], rest[slash...])
        let scheme = String(text[..<separator.lowerBound])
        guard let colon = authority.lastIndex(of: ":"), colon > authority.startIndex, !authority.hasSuffix("]"),
            let port = UInt16(authority[authority.index(after: colon)...])
        else {
            let usual = secureSchemes.contains(scheme) ? 443 : 80
            return withoutPort(authority).map { Endpoint(scheme: scheme, host: $0, port: usual, path: trimmed(path)) }
        }
        return Endpoint(
            scheme: scheme, host: String(authority[..<colon]), port: Int(port), path: trimmed(path))
    }

    private static func withoutPort(_ authority: Substring) -> String? {
        authority.isEmpty || authority.contains(":") ? nil : String(authority)
    }

    private static func trimmed(_ path: Substring) -> String { path == "/" ? "" : String(path) }

    public var isSecure: Bool { Self.secureSchemes.contains(scheme) }

    private static let secureSchemes = ["https", "wss"]

    /// The host name or address, without brackets around an IPv6 address.
    var bareHost: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }

    /// The WebSocket endpoint of the same origin, for proxies that serve both.
    public var webSocket: Endpoint { Endpoint(scheme: isSecure ? "wss" : "ws", host: host, port: port, path: "") }

    /// The value of the `Host` field.
    public var authority: String { "\(host):\(port)" }

    public var description: String { "\(scheme)://\(authority)\(path)" }

    /// Starts to connect without waiting. Returns nil when the name has no address or the system refuses.
    func connect() -> CInt? {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(bareHost, "\(port)", &hints, &found) == 0, let address = found else { return nil }
        defer { freeaddrinfo(address) }
        let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.pointee.ai_family, type, 0)
        guard descriptor >= 0 else { return nil }
        if Glibc.connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) != 0, errno != EINPROGRESS {
            close(descriptor)
            return nil
        }
        var one: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
        return descriptor
    }
}

/// A text that is not a valid endpoint.
public struct InvalidEndpoint: Error, Equatable, CustomStringConvertible {
    let text: String
    let scheme: String

    public var description: String {
        "\"\(text)\" must have the form \(scheme)://host:port, or \(scheme)s:// for TLS"
    }
}
