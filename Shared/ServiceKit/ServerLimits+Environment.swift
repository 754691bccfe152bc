import Edge

extension ServerLimits {
    /// Reads the limits of a server for clients.
    public init(environment: inout Environment) throws(ConfigurationError) {
        self.init()
        connections = try environment.integer("PARLEY_CONNECTIONS", default: connections, in: 1...1_000_000)
        connectionsPerAddress = try environment.integer(
            "PARLEY_CONNECTIONS_PER_ADDRESS", default: connectionsPerAddress, in: 1...1_000_000)
        failuresPerAddress = try environment.integer(
            "PARLEY_FAILURES_PER_ADDRESS", default: failuresPerAddress, in: 1...1_000_000)
        trustedProxies = try environment.proxies("PARLEY_PROXY_PROTOCOL")
    }
}

extension Environment {
    /// Reads `0` (no proxies), `1` (every client is a proxy), or the networks of the proxies.
    fileprivate mutating func proxies(_ name: String) throws(ConfigurationError) -> [IPNetwork] {
        let items = list(name, default: "0")
        if items == ["0"] { return [] }
        if items == ["1"] { return IPNetwork.all }
        let networks = items.compactMap { IPNetwork($0) }
        guard networks.count == items.count else {
            throw ConfigurationError(
                name, "must be 0, 1, or addresses and networks such as 10.0.0.0/8, separated by commas")
        }
        return networks
    }
}
