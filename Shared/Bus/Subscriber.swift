import Bytes
import Reactor
import Wire

/// A SUB socket on the reactor: hands over what arrives, at most a budget per turn.
///
/// libzmq's descriptor tells only that something changed, so after everything that may have swallowed such a signal
/// (connecting, subscribing, receiving without emptying the queue) the socket is asked again.
@Reactor
final class Subscriber: DescriptorHandler, FrameSubscriber {
    /// One turn handles this much, then timers and other descriptors get theirs. What a frame costs is the receiver's
    /// affair (a change goes to every session of a room), and what it wrote leaves at the end of the turn: so the time is
    /// bounded, not the bytes.
    private static let framesPerTurn = 512
    private static let timePerTurn = Duration.milliseconds(10)

    private let socket: Socket
    private let descriptor: CInt
    private let onMessage: @Reactor (Message) -> Void
    /// How long an address whose process was not the right one is left alone.
    private static let pauseAfterLoss = Duration.seconds(1)
    private var watch: ConnectionWatch?
    private var connected: Set<String> = []
    private var isOpen = true
    private var isCheckPlanned = false
    /// Whether the next message belongs to the one before.
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

    /// Connections that ended before both sides knew who the other is.
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

    /// libzmq takes an endpoint that it has given up for connected until it is disconnected.
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
        guard !isCheckPlanned else { return }
        isCheckPlanned = true
        Reactor.after(.zero) { [weak self] in
            self?.isCheckPlanned = false
            self?.receive()
        }
    }
}
