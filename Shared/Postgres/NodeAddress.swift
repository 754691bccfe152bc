/// Where one node of a distributed database listens: a host or a folder of sockets, and a port.
public struct NodeAddress: Hashable, Sendable {
    public let host: String
    public let port: Int32

    public init(host: String, port: Int32) {
        self.host = host
        self.port = port
    }
}
