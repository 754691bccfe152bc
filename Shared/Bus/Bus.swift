import Bytes
import Models
import Reactor
import Wire

/// The process's connection to all others: one bound PUB socket, and one SUB socket for each role it listens to,
/// connected to the peers of that role. Both drop frames for a peer that is slow, late or away, so nothing may depend
/// on the arrival of a frame.
///
/// With keys, libzmq authenticates the publisher's role on each connection, and `ZAPHandler` admits only listeners
/// whose role may listen. Having one socket per role identifies the sender of every frame: a socket subscribes only to
/// the topics of its role, and libzmq drops whatever else a peer sends.
@Reactor
public final class Bus {
    public let instance: Instance
    public internal(set) var counters = BusCounters()
    /// Called with every frame of the subscribed topics, except for responses and for what slots are served.
    public var onFrame: @Reactor (InboundFrame) -> Void = { _ in }
    /// Called for each refused frame or entry, with the sender's role and the reason.
    public var onRefusal: @Reactor (Role?, StaticString) -> Void = { _, _ in }
    /// Whether the bus delivers frames that this process sent, when the process is among its own peers: a pattern that
    /// matches all processes of a kind matches this one too. Needed by services that send requests to their own kind.
    public var receivesOwnFrames = false

    /// Released sockets close themselves.
    private var publisher: (any FramePublisher)?
    private var subscribers: [Role?: any FrameSubscriber] = [:]
    private var finders: [PeerFinder] = []
    private var zapHandler: ZAPHandler?
    /// Nil on a simulated medium.
    private let context: Context?
    private let keys: BusKeys?
    /// The number of subscriptions to each topic, for peers that are followed later.
    private var topics: [Topic: Int] = [:]
    private var outbox: Outbox
    private var isFlushScheduled = false
    var requests: RequestTable<PendingRequest>
    var commands = RoundTrip()
    var progress = CommandProgress()
    var inboundRequests = InboundRequests()
    var isRequestCheckScheduled = false
    /// Whose owners have said so since the last check of the requests.
    var served: Set<ServedSlot> = []

    /// Opens the bus, bound at a ZeroMQ endpoint such as `tcp://*:7101` or `ipc:///run/parley/store-0.sock`.
    ///
    /// - Parameter keys: nil leaves the bus open to everybody who reaches the endpoint.
    public init(bind endpoint: String, keys: BusKeys? = nil) throws(ZeroMQError) {
        instance = .random()
        let context = try Context()
        self.context = context
        self.keys = keys
        outbox = Outbox(origin: instance)
        requests = RequestTable(now: .now, size: \.entry.count)
        if let keys {
            zapHandler = try ZAPHandler(listeners: keys.listeners, in: context) { [unowned self] in
                counters.connectionsRefused += 1
            }
        }
        publisher = try Publisher(bind: endpoint, keys.map { .server($0.own) } ?? .plain, in: context)
        subscribeAlways()
    }

    /// Opens a bus on an in-process medium, for simulations.
    public init(_ instance: Instance, on medium: some FramePublisher & FrameSubscriber) {
        self.instance = instance
        context = nil
        keys = nil
        outbox = Outbox(origin: instance)
        requests = RequestTable(now: .now, size: \.entry.count)
        publisher = medium
        subscribers[nil] = medium
        subscribeAlways()
    }

    private func subscribeAlways() {
        subscribe(.response(instance))
        for group in SlotGroup.all { subscribe(.served(group)) }
    }

    /// Receives a frame from the in-process medium.
    public func receive(_ frame: UnsafeRawBufferPointer) { receive(Message(copying: frame), from: nil) }

    /// Connects to all processes of a role at these endpoints, now and as they come and go. Call it once for each role.
    ///
    /// - Parameter role: nil, for tests that play several roles at once, accepts every topic from every peer. It
    ///   requires a bus without keys.
    public func follow(_ endpoints: [Endpoint], as role: Role? = nil) throws(ZeroMQError) {
        precondition(subscribers[role] == nil, "the peers of a role are configured once")
        guard let context else { preconditionFailure("a simulated bus has no endpoints to follow") }
        let subscriber = try Subscriber(security(towards: role), in: context) { [unowned self] in
            receive($0, from: role)
        }
        subscribers[role] = subscriber
        for (topic, count) in topics where listens(to: topic, from: role) {
            for _ in 0..<count { subscriber.subscribe(topic) }
        }
        let finder = PeerFinder(
            endpoints, connect: { [weak subscriber] in try? subscriber?.connect($0) },
            disconnect: { [weak subscriber] in try? subscriber?.disconnect($0) })
        finders.append(finder)
        finder.start()
    }

    /// The ZeroMQ endpoints that are connected at the moment.
    public var connectedEndpoints: Set<String> { finders.reduce(into: []) { $0.formUnion($1.connected) } }

    /// Outgoing connections that ended before the handshake was complete.
    public var failedHandshakes: Int { subscribers.values.reduce(0) { $0 + $1.failedHandshakes } }

    public func subscribe(_ topic: Topic) {
        topics[topic, default: 0] += 1
        for (role, subscriber) in subscribers where listens(to: topic, from: role) { subscriber.subscribe(topic) }
    }

    /// Ends one subscription; a topic subscribed twice stays subscribed.
    public func unsubscribe(_ topic: Topic) {
        guard let count = topics[topic] else { preconditionFailure("unsubscribe needs an earlier subscribe") }
        topics[topic] = count > 1 ? count - 1 : nil
        for (role, subscriber) in subscribers where listens(to: topic, from: role) { subscriber.unsubscribe(topic) }
    }

    private func listens(to topic: Topic, from role: Role?) -> Bool { role.map(topic.mayBePublished) ?? true }

    private func security(towards role: Role?) -> Socket.Security {
        guard let keys else { return .plain }
        guard let role, let key = keys.publicKeys[role] else {
            preconditionFailure("a bus with keys follows peers by role")
        }
        return .client(keys.own, server: key)
    }

    /// Adds one entry to this turn's frame of `topic`. At the end of the turn the frames are sent in the order of their
    /// first entries.
    public func append(to topic: Topic, _ body: (inout ByteBuffer) -> Void) {
        guard publisher != nil else { return }
        if let full = outbox.append(to: topic, body) { Outbox.flush(full) { send($0) } }
        scheduleFlush()
    }

    /// Sends the frames of this turn and closes the sockets, which linger for up to 250 ms. Call it at the end of the
    /// process: requests in flight never complete after this.
    public func close() {
        flush()
        finders.forEach { $0.stop() }
        finders = []
        publisher?.close()
        publisher = nil
        subscribers.values.forEach { $0.close() }
        subscribers = [:]
        // Last: without a ZAP handler libzmq admits everybody.
        zapHandler?.close()
        zapHandler = nil
    }

    // MARK: Sending

    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        Reactor.atEndOfTurn { [self] in
            isFlushScheduled = false
            flush()
        }
    }

    /// Sends the frames that the turn has so far, without waiting for its end.
    func flush() {
        guard publisher != nil else { return }
        outbox.flush { send($0) }
    }

    private func send(_ frame: UnsafeRawBufferPointer) {
        // A PUB socket never reports a full queue; it drops frames for the peer whose queue is full.
        publisher?.send(frame)
        counters.framesSent += 1
        counters.bytesSent += frame.count
    }

    // MARK: Receiving

    private func receive(_ message: Message, from sender: Role?) {
        counters.framesReceived += 1
        counters.bytesReceived += message.bytes.count
        // Parley's frames have one part. A second part could carry a topic that its sender may not publish.
        guard !message.isPart else { return refuse(from: sender, "a multipart message") }
        do throws(FrameError) {
            receive(try InboundFrame(message, from: sender))
        } catch .unknownVersion {
            refuse(from: sender, "a frame of an unknown version")
        } catch {
            refuse(from: sender, "not a frame")
        }
    }

    private func receive(_ frame: InboundFrame) {
        guard receivesOwnFrames || frame.origin != instance else { return }
        switch frame.topic {
        case .response: receiveResponses(frame)
        case .served: receiveServed(frame)
        default: onFrame(frame)
        }
    }

    private func refuse(from sender: Role?, _ reason: StaticString) {
        counters.framesRefused += 1
        onRefusal(sender, reason)
    }

    /// Reports an entry of a frame that its reader skipped because it does not know the layout.
    public func refuseEntry(of frame: InboundFrame) { onRefusal(frame.sender, "an entry of an unknown layout") }
}
