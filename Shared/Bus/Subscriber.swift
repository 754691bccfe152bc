import Bytes
import Reactor
import Wire

/// A SUB socket on the reactor. It delivers what arrives, within a budget per turn.
///
/// libzmq's descriptor signals only that something changed. Connecting, subscribing, and receiving without emptying the
/// queue may consume that signal, so the socket is read again after each of them.
@Reactor
final class Subscriber: DescriptorHandler, FrameSubscriber {
    /// The budget of a turn; then timers and other descriptors get theirs. The cost of a frame depends on its receiver
    /// (a change goes to every session of a room), and its output leaves at the end of the turn. The budget therefore
    /// limits time as well as frames.
    private static let framesPerTurn = 512
    private static let timePerTurn = Duration.milliseconds(10)

    private let socket: Socket
    private let descriptor: CInt
    private let onMessage: @Reactor (Message) -> Void
    /// How long to wait before reconnecting an address whose process failed authentication.
    private static let pauseAfterLoss = Duration.seconds(1)
    private var watch: ConnectionWatch?
    private var connected: Set<String> = []
    private var isOpen = true
    private var isCheckScheduled = false
    /// Whether the next message is a further part of the previous one.
    private var isInParts = false

    init(
        _ security: Socket.Security = .plain, in context: Context, onMessage: @escaping @Reactor (Message) -> Void
    ) throws(ZeroMQError) {
        let socket = try Socket(.subscriber, security, in: context)
        descriptor = socket.descriptor
        self.socket = socket
        self.onMessage = onMessage
        watch = try ConnectionWatch(self.socket, in: context, pause: Self.pauseAfterLoss) { [weak self] in
            self?.connectAgain($0)
        }
        Reactor.watch(descriptor, for: .read, handler: self)
    }

    /// Connections that ended before the handshake was complete.
    public var failedHandshakes: Int { watch?.failedHandshakes ?? 0 }

    func connect(_ endpoint: String) throws(ZeroMQError) {
        try socket.connect(endpoint)
        connected.insert(endpoint)
        checkNextTurn()
    }

    func disconnect(_ endpoint: String) throws(ZeroMQError) {
        connected.remove(endpoint)
        try socket.disconnect(endpoint)
        checkNextTurn()
    }

    /// libzmq considers an endpoint that it has given up as connected until it is disconnected.
    private func connectAgain(_ endpoint: String) {
        guard isOpen, connected.contains(endpoint) else { return }
        try? socket.disconnect(endpoint)
        try? connect(endpoint)
    }

    public func subscribe(_ topic: Topic) {
        var prefix = ByteBuffer(capacity: 16)
        topic.encode(into: &prefix)
        socket.subscribe(prefix.bytes)
        checkNextTurn()
    }

    public func unsubscribe(_ topic: Topic) {
        var prefix = ByteBuffer(capacity: 16)
        topic.encode(into: &prefix)
        socket.unsubscribe(prefix.bytes)
        checkNextTurn()
    }

    func ready(_: Readiness) { receive() }

    public func close() {
        isOpen = false
        socket.endReports()
        watch?.close()
        Reactor.forget(descriptor)
    }

    private func receive() {
        let start = MonotonicTime.now
        var frames = 0
        while isOpen, socket.isReadable {
            while isOpen, let message = socket.receive() {
                frames += 1
                message.isPart = isInParts || message.hasMore
                isInParts = message.hasMore
                onMessage(message)
                let isWithinBudget = frames < Self.framesPerTurn && MonotonicTime.now - start < Self.timePerTurn
                guard isWithinBudget else { return checkNextTurn() }
            }
        }
    }

    private func checkNextTurn() {
        guard !isCheckScheduled else { return }
        isCheckScheduled = true
        Reactor.after(.zero) { [weak self] in
            self?.isCheckScheduled = false
            self?.receive()
        }
    }
}
