/// An address or pattern at which processes of one kind are found. Any number of processes may be there, or none.
public enum Endpoint: Hashable, Sendable {
    /// All addresses of a host name, or one literal address (IPv6 without brackets).
    case tcp(host: String, port: UInt16)
    /// All UNIX sockets whose paths match a glob(7) pattern.
    case ipc(pattern: String)

    /// The error for a text that is neither `tcp://name:port` nor `ipc:///path`.
    public struct Malformed: Error, CustomStringConvertible {
        public let text: String
        public var description: String { "'\(text)' is neither tcp://name:port nor ipc:///path" }
    }

    /// Parses a comma-separated list. Blanks and empty items are skipped.
    public static func parse(list: String) throws(Malformed) -> [Endpoint] {
        var endpoints: [Endpoint] = []
        for item in list.split(separator: ",") {
            let text = item.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
            if !text.isEmpty { endpoints.append(try Endpoint(String(text))) }
        }
        return endpoints
    }

    public init(_ text: String) throws(Malformed) {
        if text.hasPrefix("ipc://") {
            let path = text.dropFirst(6)
            guard path.hasPrefix("/") else { throw Malformed(text: text) }
            self = .ipc(pattern: String(path))
        } else if text.hasPrefix("tcp://"), let (host, port) = Self.hostAndPort(text.dropFirst(6)) {
            self = .tcp(host: host, port: port)
        } else {
            throw Malformed(text: text)
        }
    }

    private static func hostAndPort(_ text: Substring) -> (String, UInt16)? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return host.isEmpty ? nil : (String(host), port)
    }
}
