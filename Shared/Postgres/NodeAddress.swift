/// Where one node of a distributed database listens: a host or a folder of sockets, and a port.
public struct NodeAddress: Hashable, Sendable {
    public let host: String
    public let port: Int32

    public init(host: String, port: Int32) {
        self.host = host
        self.port = port
    }

    /// The parameters of a connection straight to it: those of `url`, but for the place.
    func keywords(_ url: String) -> [(String, String)] {
        (DatabaseURL(url)?.parameters ?? [("dbname", url)]) + [("host", host), ("port", "\(port)")]
    }
}
