/// The connected addresses, computed from the latest result for each endpoint. Two endpoints may name the same process;
/// it is connected once, as long as one of them finds it.
struct PeerSet {
    private var found: [Endpoint: Set<String>] = [:]
    private(set) var connected: Set<String> = []

    /// Replaces the addresses of one endpoint, given as ZeroMQ endpoints. Returns what to connect and what to
    /// disconnect.
    mutating func update(_ endpoint: Endpoint, found addresses: Set<String>) -> (appeared: [String], vanished: [String])
    {
        found[endpoint] = addresses
        let wanted = found.values.reduce(into: Set()) { $0.formUnion($1) }
        let appeared = wanted.subtracting(connected).sorted()
        let vanished = connected.subtracting(wanted).sorted()
        connected = wanted
        return (appeared, vanished)
    }
}
