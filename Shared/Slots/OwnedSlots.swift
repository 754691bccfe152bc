import Bus
import Models
import Postgres
import Reactor
import Wire

/// Subscribes to the topics of the groups that a service owns slots of, and publishes the digests of these slots.
@Reactor
public final class OwnedSlots: SlotOwnerDelegate {
    /// The time between two digests. It limits how late a lost frame is found that no later frame reveals.
    public static let digestInterval = Duration.milliseconds(250)

    /// The time in which PostgreSQL notices that a client is gone: it checks every second
    /// (`client_connection_check_interval`), and TCP gives up after five.
    private static let lossDetectionTime = Duration.seconds(6)

    /// The topics of a kind of service: of its requests and of its digests.
    public struct Topics: Sendable {
        let requests: @Sendable (SlotGroup) -> Topic
        /// Nil: it has no streams.
        let digests: (@Sendable (SlotGroup) -> Topic)?

        public static let store = Topics(requests: { .command($0) }, digests: { .digest($0) })
        public static let receipt = Topics(requests: { .receiptCommand($0) }, digests: { .receiptDigest($0) })
        public static let media = Topics(requests: { .mediaCommand($0) }, digests: nil)
    }

    private let bus: Bus
    private let topics: Topics
    /// Nil where whoever made this says which slots are owned.
    private var owner: SlotOwner?
    private var epochs: [Slot: Int64] = [:]
    private var digests = DigestLog()
    private var ownedInGroup = Array(repeating: 0, count: SlotGroup.count)
    private var isOwned = Array(repeating: false, count: Slot.count)
    public var count: Int { epochs.count }
    /// Calls `body` with each slot that is acquired.
    public func onAcquired(_ body: @escaping @Reactor (Slot) -> Void) { acquisitionObservers.append(body) }
    private var acquisitionObservers: [@Reactor (Slot) -> Void] = []

    /// Calls `body` with each slot that is released or lost: from then on, nothing of it may be sent to the database.
    public func onLost(_ body: @escaping @Reactor (Slot) -> Void) { lossObservers.append(body) }
    private var lossObservers: [@Reactor (Slot) -> Void] = []

    /// Calls `body` with each owned slot in which a commit may not have been announced.
    public func onDoubt(_ body: @escaping @Reactor (Slot) -> Void) { doubtObservers.append(body) }
    private var doubtObservers: [@Reactor (Slot) -> Void] = []

    /// Called with each session of a silent member that this process has ended.
    public var onEndedSession: @Reactor (_ session: Int32) -> Void = { _ in }
    public private(set) var endedSessions = 0

    /// `connection` is the writing connection. It must not be open yet.
    public convenience init(_ bus: Bus, _ topics: Topics, connection: Connection, schema: String, lockClass: Int32) {
        self.init(bus, topics)
        owner = SlotOwner(connection: connection, schema: schema, lockClass: lockClass, delegate: self)
    }

    /// Of a shard on Citus: `ShardOwners` calls `acquired` and `lost`.
    public init(_ bus: Bus, _ topics: Topics) {
        self.bus = bus
        self.topics = topics
        Reactor.every(Self.digestInterval) { [weak self] in self?.publishDigests() }
    }

    public func contains(_ slot: Slot) -> Bool { isOwned[Int(slot.number)] }

    /// Returns the epochs of the given slots that are owned.
    public func epochs(of slots: some Sequence<Slot>) -> [Slot: Int64] {
        var owned: [Slot: Int64] = [:]
        for slot in slots { owned[slot] = epochs[slot] }
        return owned
    }

    /// The requests that were refused: of no known layout, or by a role that may not make them.
    public private(set) var refusedRequests = 0

    /// Calls `body` with each request in `frame` for an owned slot, and with its bytes. What it throws refuses the request.
    ///
    /// The topic of a frame is a group of slots: requests for slots of other owners are not for this service.
    public func forEachRequest(
        in frame: InboundFrame,
        _ body: (RequestEntry, RequestKey, _ bytes: UnsafeRawBufferPointer) throws(WireError) -> Void
    ) {
        for bytes in frame.entries { takeRequest(bytes, of: frame, body) }
    }

    /// The same for one entry of a frame.
    public func takeRequest(
        _ bytes: UnsafeRawBufferPointer, of frame: InboundFrame,
        _ body: (RequestEntry, RequestKey, _ bytes: UnsafeRawBufferPointer) throws(WireError) -> Void
    ) {
        do throws(WireError) {
            let entry = try RequestEntry(bytes)
            guard contains(entry.slot) else { return }
            try body(entry, RequestKey(origin: frame.origin, number: entry.number), bytes)
        } catch {
            refusedRequests += 1
            bus.refuseEntry(of: frame)
        }
    }

    /// Records for the digest that a transaction of `slot` moved a stream.
    public func note(_ position: StreamPosition, in slot: Slot) { digests.note(position, in: slot) }

    /// Makes subscribers of these slots ask for their streams, because transactions may have been committed without an
    /// announcement. Repeats this later: a server whose client is gone may commit until it notices.
    public func doubt(_ doubtful: Set<Slot>) {
        raiseDoubt(doubtful)
        Reactor.after(Self.lossDetectionTime) { [weak self] in self?.raiseDoubt(doubtful) }
    }

    private func raiseDoubt(_ doubtful: Set<Slot>) {
        for slot in doubtful where contains(slot) {
            digests.doubt(slot)
            for observer in doubtObservers { observer(slot) }
        }
    }

    /// Releases all slots, at the end of the process. A last digest covers everything that was committed.
    public func drain() async {
        publishDigests()
        if let owner { await withUnsafeContinuation { continuation in owner.drain { continuation.resume() } } }
    }

    // MARK: SlotOwnerDelegate

    public func acquired(_ slot: Slot, epoch: Int64) {
        isOwned[Int(slot.number)] = true
        epochs[slot] = epoch
        digests.acquired(slot, epoch: epoch)
        let group = slot.group
        ownedInGroup[Int(group.number)] += 1
        let requests = topics.requests(group)
        if ownedInGroup[Int(group.number)] == 1 { bus.subscribe(requests) }
        bus.append(to: .served(group)) { ServedSlot(slot, requests: requests).write(to: &$0) }
        for observer in acquisitionObservers { observer(slot) }
    }

    public func lost(_ slot: Slot) {
        isOwned[Int(slot.number)] = false
        epochs[slot] = nil
        digests.lost(slot)
        let group = slot.group
        ownedInGroup[Int(group.number)] -= 1
        if ownedInGroup[Int(group.number)] == 0 { bus.unsubscribe(topics.requests(group)) }
        for observer in lossObservers { observer(slot) }
    }

    public func ended(session: Int32) {
        endedSessions += 1
        onEndedSession(session)
    }

    // MARK: Digests

    private func publishDigests() {
        guard let topic = topics.digests else { return }
        for digest in digests.takeDigests() {
            bus.append(to: topic(digest.slot.group)) { digest.write(to: &$0) }
        }
    }
}
