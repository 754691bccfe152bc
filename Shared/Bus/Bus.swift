import Bytes
import Models
import Reactor
import Wire

/// The process's connection to all others: one PUB socket, bound, and for each role it listens to one SUB socket,
/// connected to the peers of that role. Both drop frames for a peer that is slow, late or away, so nothing may depend on a
/// frame arriving.
///
/// With keys, libzmq proves on each connection that the publisher has the role, and `Doorkeeper` that the listener has one
/// that may listen. A socket per role is what makes every frame's sender known: it subscribes to the topics of that role
/// alone, and libzmq drops whatever else a peer sends.
@Reactor
public final class Bus {
    public let instance: Instance
    public internal(set) var counters = BusCounters()
    /// Called with every frame of the subscribed topics, answers excepted.
    public var onFrame: @Reactor (InboundFrame) -> Void = { _ in }
    /// Called with what came and was refused: from which role, and why.
    public var onRefusal: @Reactor (Role?, StaticString) -> Void = { _, _ in }
    /// Whether frames of this very process are received, where it is among its peers: a pattern that finds all processes
    /// of a kind finds this one too. For those who ask their own kind.
    public var hearsItself = false

    /// Closed by letting go of them.
    private var publisher: (any FramePublisher)?
    private var subscribers: [Role?: any FrameSubscriber] = [:]
    private var finders: [PeerFinder] = []
    private var doorkeeper: Doorkeeper?
    /// Nil where ZeroMQ has no part.
    private let context: Context?
    private let keys: BusKeys?
    /// How often each topic is subscribed, for peers that are followed later.
    private var topics: [Topic: Int] = [:]
    private var outbox: Outbox
    private var isFlushPlanned = false
    var requests: RequestTable<PendingRequest>
    var requestsInWork = RequestsInWork()
    var isRequestCheckPlanned = false

    /// Opens the bus, bound at a ZeroMQ endpoint such as `tcp://*:7101` or `ipc:///run/parley/store-0.sock`.
    ///
    /// - Parameter keys: none leaves the bus open to everybody who reaches the endpoint.
    public init(bind endpoint: String, keys: BusKeys? = nil) throws(ZeroMQError) {
        instance = .random()
        let context = try Context()
        self.context = context
        self.keys = keys
        outbox = Outbox(origin: instance)
        requests = RequestTable(now: .now, size: \.entry.count)
        if let keys {
            doorkeeper = try Doorkeeper(listeners: keys.listeners, in: context) { [unowned self] in
                counters.strangersRefused += 1
            }
        }
        publisher = try Publisher(bind: endpoint, keys.map { .server($0.own) } ?? .plain, in: context)
        subscribe(.response(instance))
    }

    /// Opens a bus on a medium within this process, for simulations.
    public init(_ instance: Instance, on medium: some FramePublisher & FrameSubscriber) {
        self.instance = instance
        context = nil
        keys = nil
        outbox = Outbox(origin: instance)
        requests = RequestTable(now: .now, size: \.entry.count)
        publisher = medium
        subscribers[nil] = medium
        subscribe(.response(instance))
    }

    /// Takes a frame from such a medium.
    public func receive(_ frame: UnsafeRawBufferPointer) { receive(Message(copying: frame), from: nil) }

    /// Connects to all processes of a role, found at these endpoints, now and whenever they come and go. Called once for
    /// each role.
    ///
    /// - Parameter role: nil, for tests that play several roles at once, hears everything from everybody. There are no
    ///   keys then.
    public func follow(_ endpoints: [Endpoint], as role: Role? = nil) throws(ZeroMQError) {
        precondition(subscribers[role] == nil, "the peers of a role are configured once")
        guard let context else { preconditionFailure("a simulated bus finds no peers by itself") }
        let subscriber = try Subscriber(security(towards: role), in: context) { [unowned self] in
            receive($0, from: role)
        }
        subscribers[role] = subscriber
        for (topic, count) in topics where hears(topic, from: role) {
            for _ in 0..<count { subscriber.subscribe(topic) }
        }
        let finder = PeerFinder(
            endpoints, connect: { [weak subscriber] in try? subscriber?.connect($0) },
            disconnect: { [weak subscriber] in try? subscriber?.disconnect($0) })
        finders.append(finder)
        finder.start()
    }

    /// The ZeroMQ endpoints connected at the moment.
    public var connectedEndpoints: Set<String> { finders.reduce(into: []) { $0.formUnion($1.connected) } }

    /// Connections of ours that ended before both sides knew who the other is.
    public var failedHandshakes: Int { subscribers.values.reduce(0) { $0 + $1.failedHandshakes } }

    public func subscribe(_ topic: Topic) {
        topics[topic, default: 0] += 1
        for (role, subscriber) in subscribers where hears(topic, from: role) { subscriber.subscribe(topic) }
    }

    /// Ends one subscription; a topic subscribed twice stays subscribed.
    public func unsubscribe(_ topic: Topic) {
        guard let count = topics[topic] else { preconditionFailure("only what was subscribed is unsubscribed") }
        topics[topic] = count > 1 ? count - 1 : nil
        for (role, subscriber) in subscribers where hears(topic, from: role) { subscriber.unsubscribe(topic) }
    }

    private func hears(_ topic: Topic, from role: Role?) -> Bool { role.map(topic.mayBePublished) ?? true }

    private func security(towards role: Role?) -> Socket.Security {
        guard let keys else { return .plain }
        guard let role, let key = keys.publicKeys[role] else { preconditionFailure("peers with keys have a role") }
        return .client(keys.own, server: key)
    }

    /// Adds one entry to this turn's frame of `topic`. The frames are sent at the end of the turn, in the order of their
    /// first entries.
    public func append(to topic: Topic, _ body: (inout ByteBuffer) -> Void) {
        guard publisher != nil else { return }
        if let full = outbox.append(to: topic, body) { Outbox.flush(full) { send($0) } }
        planFlush()
    }

    /// Sends what is waiting for the end of the turn, and closes the sockets, which may take the 250 ms they linger: for
    /// the end of the process. Requests in flight end no more.
    public func close() {
        flush()
        finders.forEach { $0.stop() }
        finders = []
        publisher?.close()
        publisher = nil
        subscribers.values.forEach { $0.close() }
        subscribers = [:]
        // Last: libzmq admits everybody where it finds no doorkeeper.
        doorkeeper?.close()
        doorkeeper = nil
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
        publisher?.send(frame)
        counters.framesSent += 1
        counters.bytesSent += frame.count
    }

    // MARK: Receiving

    private func receive(_ message: Message, from sender: Role?) {
        counters.framesReceived += 1
        counters.bytesReceived += message.bytes.count
        // Parley's frames have one part. The topic of a second one would be one that its sender may not publish.
        guard !message.isPart else { return refuse(from: sender, "a message of several parts") }
        do throws(FrameError) {
            receive(try InboundFrame(message, from: sender))
        } catch .unknownVersion {
            refuse(from: sender, "a frame of another version")
        } catch {
            refuse(from: sender, "no frame")
        }
    }

    private func receive(_ frame: InboundFrame) {
        guard hearsItself || frame.origin != instance else { return }
        if case .response = frame.topic { receiveAnswers(frame) } else { onFrame(frame) }
    }

    private func refuse(from sender: Role?, _ reason: StaticString) {
        counters.framesRefused += 1
        onRefusal(sender, reason)
    }

    /// Tells that an entry of a frame was passed over, whose layout its reader does not know.
    public func refuseEntry(of frame: InboundFrame) { onRefusal(frame.sender, "an entry of no known layout") }
}
