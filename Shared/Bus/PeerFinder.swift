import Reactor

/// Polls the configured endpoints every second for processes. Scaling a service needs neither a broker nor a restart.
@Reactor
final class PeerFinder {
    private static let interval = Duration.seconds(1)

    private let endpoints: [Endpoint]
    private let connect: @Reactor (String) -> Void
    private let disconnect: @Reactor (String) -> Void
    private var peers = PeerSet()
    private var lookupsRunning: Set<Endpoint> = []
    private var isRunning = false

    init(
        _ endpoints: [Endpoint], connect: @escaping @Reactor (String) -> Void,
        disconnect: @escaping @Reactor (String) -> Void
    ) {
        self.endpoints = endpoints
        self.connect = connect
        self.disconnect = disconnect
    }

    var connected: Set<String> { peers.connected }

    func start() {
        isRunning = true
        poll()
    }

    func stop() { isRunning = false }

    private func poll() {
        guard isRunning else { return }
        for endpoint in endpoints { poll(endpoint) }
        Reactor.after(Self.interval) { [weak self] in self?.poll() }
    }

    private func poll(_ endpoint: Endpoint) {
        switch endpoint {
        case .ipc(let pattern): update(endpoint, AddressLookup.matches(pattern))
        case .tcp(let host, let port):
            if let address = AddressLookup.literal(host, port) {
                update(endpoint, address)
            } else if lookupsRunning.insert(endpoint).inserted {
                AddressLookup.resolve(host, port) { [weak self] in self?.resolved(endpoint, $0) }
            }
        }
    }

    private func resolved(_ endpoint: Endpoint, _ addresses: Set<String>?) {
        lookupsRunning.remove(endpoint)
        // A failed lookup says nothing about our peers: the connections stay.
        if let addresses, isRunning { update(endpoint, addresses) }
    }

    private func update(_ endpoint: Endpoint, _ addresses: Set<String>) {
        let (appeared, vanished) = peers.update(endpoint, found: addresses)
        for address in vanished { disconnect(address) }
        for address in appeared { connect(address) }
    }
}
