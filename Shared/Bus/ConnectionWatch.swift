import CZMQ
import Reactor

/// Tells which connections of a socket libzmq has given up. It connects again by itself after nearly every failure, but not
/// after a peer broke the protocol: had no key, refused ours, or sent a frame beyond the limit. That may pass, with
/// another process at the same address or another list of keys, and nobody else would notice.
@Reactor
final class ConnectionWatch: DescriptorHandler {
    private static var count = 0

    private let events: Socket
    private let descriptor: CInt
    /// How long libzmq is given to say that it tries again, which it does at once, and how long an address is left alone.
    private let pause: Duration
    private let onLoss: @Reactor (String) -> Void
    private var ended: Set<String> = []
    private(set) var failedHandshakes = 0

    /// Has to be there before the socket is first connected.
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
        // The descriptor says nothing before the socket was asked once after it was connected.
        receive()
    }

    func ready(_: Readiness) { receive() }

    /// The socket's reports have to have ended.
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
