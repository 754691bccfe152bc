import CZMQ
import Reactor

/// Reports the connections of a socket that libzmq has given up. libzmq reconnects after nearly every failure, but not
/// after a peer broke the protocol: had no key, refused ours, or sent a frame beyond the limit. The cause may pass,
/// when another process takes the address or the list of keys changes, and nothing else would reconnect.
@Reactor
final class ConnectionWatch: DescriptorHandler {
    private static var count = 0

    private let events: Socket
    private let descriptor: CInt
    /// How long to wait for libzmq to announce a retry, which it does at once, before reconnecting an address.
    private let pause: Duration
    private let onLoss: @Reactor (String) -> Void
    private var ended: Set<String> = []
    private(set) var failedHandshakes = 0

    /// Must be created before the watched socket is first connected.
    ///
    /// - Parameter onLoss: called with the ZeroMQ endpoint.
    init(
        _ watched: borrowing Socket, in context: Context, pause: Duration, onLoss: @escaping @Reactor (String) -> Void
    ) throws(ZeroMQError) {
        Self.count += 1
        let endpoint = "inproc://connections-\(Self.count)"
        let events = try Socket(.pair, .plain, in: context)
        try watched.reportConnections(to: endpoint)
        try events.connect(endpoint)
        descriptor = events.descriptor
        self.events = events
        self.pause = pause
        self.onLoss = onLoss
        Reactor.watch(descriptor, for: .read, handler: self)
        // After a connect, the descriptor becomes readable only once the socket's events were read.
        receive()
    }

    func ready(_: Readiness) { receive() }

    /// Call it after `Socket.endReports`.
    func close() { Reactor.forget(descriptor) }

    private func receive() {
        while events.isReadable {
            while let (event, endpoint) = events.receiveConnectionEvent() { note(event, at: endpoint) }
        }
    }

    private func note(_ event: Socket.ConnectionEvent?, at endpoint: String) {
        switch event {
        case .handshakeFailed: failedHandshakes += 1
        case .triesAgain: ended.remove(endpoint)
        case .ended:
            ended.insert(endpoint)
            Reactor.after(pause) { [weak self] in
                guard let self, ended.remove(endpoint) != nil else { return }
                onLoss(endpoint)
            }
        case nil: break
        }
    }
}
