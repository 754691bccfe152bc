import Bus
import Models
import Postgres
import Reactor
import Wire

/// What a service does with the slots it owns: it listens to the topics of their groups, and publishes their digests.
@Reactor
public final class OwnedSlots: SlotOwnerDelegate {
    /// Between two digests: how late a lost frame that no later one reveals is found.
    public static let digestInterval = Duration.milliseconds(250)

    /// By then a server has noticed that a client is gone: it looks every second (`client_connection_check_interval`), and
    /// at the latest when TCP gives up after five.
    private static let noticeOfLoss = Duration.seconds(6)

    /// Which requests a kind of service takes, and under which topic its digests go.
    public struct Topics: Sendable {
        let requests: @Sendable (SlotGroup) -> Topic
        let digests: @Sendable (SlotGroup) -> Topic

        public static let store = Topics(requests: { .command($0) }, digests: { .digest($0) })
        public static let receipt = Topics(requests: { .receiptCommand($0) }, digests: { .receiptDigest($0) })
    }

    private let bus: Bus
    private let topics: Topics
    private var owner: SlotOwner!
    private var digests = DigestLog()
    private var ownedInGroup = Array(repeating: 0, count: SlotGroup.count)
    private var isOwned = Array(repeating: false, count: Slot.count)
    public private(set) var count = 0
    /// Told of each slot that is taken over.
    public func onAcquired(_ body: @escaping @Reactor (Slot) -> Void) { acquisitionObservers.append(body) }
    private var acquisitionObservers: [@Reactor (Slot) -> Void] = []

    /// Told of each slot that is given up or lost: nothing is sent to the database for it from now on.
    public func onLost(_ body: @escaping @Reactor (Slot) -> Void) { lossObservers.append(body) }
    private var lossObservers: [@Reactor (Slot) -> Void] = []

    /// Told of each owned slot of which something may have been committed that nobody was told of.
    public func onDoubt(_ body: @escaping @Reactor (Slot) -> Void) { doubtObservers.append(body) }
    private var doubtObservers: [@Reactor (Slot) -> Void] = []

    /// Told of each session of another member that was ended because that one had fallen silent.
    public var onEndedSession: @Reactor (_ session: Int32) -> Void = { _ in }
    public private(set) var endedSessions = 0

    /// `connection` is the one that writes, and not open yet.
    public init(_ bus: Bus, _ topics: Topics, connection: Connection, schema: String, lockClass: Int32) {
        self.bus = bus
        self.topics = topics
        owner = SlotOwner(connection: connection, schema: schema, lockClass: lockClass, delegate: self)
        Reactor.every(Self.digestInterval) { [weak self] in self?.publishDigests() }
    }

    public func contains(_ slot: Slot) -> Bool { isOwned[Int(slot.number)] }

    /// The epochs under which these slots are owned, those of them that are.
    public func epochs(of slots: some Sequence<Slot>) -> [Slot: Int64] {
        var epochs: [Slot: Int64] = [:]
        for slot in slots { epochs[slot] = owner.epochs[slot] }
        return epochs
    }

    /// Notes for the digest that a transaction of `slot` moved a stream.
    public func note(_ position: StreamPosition, in slot: Slot) { digests.note(position, in: slot) }

    /// Transactions of these slots may have been committed, and nobody is told of them: whoever follows the slots asks for
    /// what it holds. A server whose client is gone may commit until it notices, so they ask again after that.
    public func doubt(_ doubtful: Set<Slot>) {
        raiseDoubt(doubtful)
        Reactor.after(Self.noticeOfLoss) { [weak self] in self?.raiseDoubt(doubtful) }
    }

    private func raiseDoubt(_ doubtful: Set<Slot>) {
        for slot in doubtful where contains(slot) {
            digests.doubt(slot)
            for observer in doubtObservers { observer(slot) }
        }
    }

    /// Gives all slots to the others, for the end of the process. What was committed is in the digests that go out here.
    public func drain() async {
        publishDigests()
        await withUnsafeContinuation { continuation in owner.drain { continuation.resume() } }
    }

    // MARK: SlotOwnerDelegate

    public func acquired(_ slot: Slot, epoch: Int64) {
        isOwned[Int(slot.number)] = true
        count += 1
        digests.acquired(slot, epoch: epoch)
        let group = slot.group
        ownedInGroup[Int(group.number)] += 1
        if ownedInGroup[Int(group.number)] == 1 { bus.subscribe(topics.requests(group)) }
        for observer in acquisitionObservers { observer(slot) }
    }

    public func lost(_ slot: Slot) {
        isOwned[Int(slot.number)] = false
        count -= 1
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
        for digest in digests.takeDigests() {
            bus.append(to: topics.digests(digest.slot.group)) { digest.write(to: &$0) }
        }
    }
}
