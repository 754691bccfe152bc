import Bytes
import Models
import Reactor
import Wire

/// The process's connection to all others: one PUB socket, bound, and one SUB socket, connected to the peers it listens
/// to. Both drop frames for a peer that is slow, late or away, so nothing may depend on a frame arriving.
@Reactor
package final class Bus {
    package let instance: Instance
    package internal(set) var counters = BusCounters()
    /// Called with every frame of the subscribed topics, answers excepted.
    package var onFrame: @Reactor (InboundFrame) -> Void = { _ in }

    /// Both are nil once the bus is closed.
    private var publisher: Publisher?
    private var subscriber: Subscriber?
    private var outbox: Outbox
    private var peers: PeerFinder?
    private var isFlushPlanned = false
    var requests: RequestTable<PendingRequest>
    var requestsInWork = RequestsInWork()
    var isRequestCheckPlanned = false

    /// Opens the bus, bound at a ZeroMQ endpoint such as `tcp://*:7101` or `ipc:///run/parley/store-0.sock`.
    package init(bind endpoint: String) throws(ZeroMQError) {
        instance = .random()
        let context = try Context()
        publisher = try Publisher(bind: endpoint, in: context)
        outbox = Outbox(origin: instance)
        requests = RequestTable(now: .now)
        subscriber = try Subscriber(in: context) { [unowned self] in receive($0) }
        subscribe(.answer(instance))
    }

    /// Connects to all processes found at these endpoints, now and whenever they come and go. Called once.
    package func follow(_ endpoints: [Endpoint]) {
        precondition(peers == nil, "the peers of a process are configured once")
        peers = PeerFinder(
            endpoints, connect: { [unowned self] in try? subscriber?.connect($0) },
            disconnect: { [unowned self] in try? subscriber?.disconnect($0) })
        peers?.start()
    }

    /// The ZeroMQ endpoints connected at the moment.
    package var connectedEndpoints: Set<String> { peers?.connected ?? [] }

    package func subscribe(_ topic: Topic) { subscriber?.subscribe(topic) }

    /// Ends one subscription; a topic subscribed twice stays subscribed.
    package func unsubscribe(_ topic: Topic) { subscriber?.unsubscribe(topic) }

    /// Adds one entry to this turn's frame of `topic`. The frames are sent at the end of the turn, in the order of their
    /// first entries.
    package func append(to topic: Topic, _ body: (inout ByteBuffer) -> Void) {
        guard publisher != nil else { return }
        if let full = outbox.append(to: topic, body) { Outbox.flush(full) { send($0) } }
        planFlush()
    }

    /// Sends what is waiting for the end of the turn, and closes the sockets, which may take the 250 ms they linger: for
    /// the end of the process. Requests in flight end no more.
    package func close() {
        flush()
        peers?.stop()
        publisher?.close()
        subscriber?.close()
        (publisher, subscriber) = (nil, nil)
    }

    // MARK: Sending

    private func planFlush() {
        guard !isFlushPlanned else { return }
        isFlushPlanned = true
        Reactor.atEndOfTurn { [self] in
            isFlushPlanned = false
            flush()
        }
    }

    /// Sends what the turn has so far, without waiting for its end.
    func flush() {
        guard publisher != nil else { return }
        outbox.flush { send($0) }
    }

    private func send(_ frame: UnsafeRawBufferPointer) {
        // A PUB socket never reports a full queue: it drops for the peer whose queue it is.
        _ = publisher?.send(frame)
        counters.framesSent += 1
        counters.bytesSent += frame.count
    }

    // MARK: Receiving

    private func receive(_ message: Message) {
        counters.framesReceived += 1
        counters.bytesReceived += message.bytes.count
        guard let frame = try? InboundFrame(message) else {
            counters.framesRefused += 1
            return
        }
        // A pattern that finds all processes of a kind finds this one too.
        guard frame.origin != instance else { return }
        if case .answer = frame.topic { receiveAnswers(frame) } else { onFrame(frame) }
    }
}
