import Bus
import Bytes
import Models
import Reactor
import ServiceKit
import Wire

/// The conversations that sessions of this process take part in. Entries about all others cost one look-up.
@Reactor
final class Rooms {
    /// Changes fetched at once.
    static let pageSize: UInt32 = 200
    /// For a store to answer, dead ones to be replaced included.
    static let deadline = Duration.seconds(10)

    let bus: Bus
    let fetches: FetchQueue
    let counters: Counters
    let turns: Turns
    private let log: Log
    /// By slot, so that all of a slot are found when its digests were missed.
    private var bySlot = [[ConversationID: Room]](repeating: [:], count: Slot.count)
    var changeWitness = Witness<ConversationID>()
    var statusWitness = Witness<ConversationID>()
    /// For `Presence`: a session's user is no member any more, the last session has left, and another number of members
    /// decides anew whether they see each other. Somebody else is a member now, or is none any more.
    var left: @Reactor (Session, Room) -> Void = { _, _ in }
    var closed: @Reactor (Room) -> Void = { _ in }
    var resized: @Reactor (Room) -> Void = { _ in }
    var membership: @Reactor (Room, UserID, _ isMember: Bool) -> Void = { _, _, _ in }
    var doubtChanges: @Reactor (Slot) -> Void = { _ in }
    var doubtStatuses: @Reactor (Slot) -> Void = { _ in }
    /// Runs something when the changes that have come by now were handled; the same for receipts.
    var afterBacklog: @Reactor (@escaping @Reactor () -> Void) -> Void = { $0() }
    var afterStatusBacklog: @Reactor (@escaping @Reactor () -> Void) -> Void = { $0() }

    init(bus: Bus, fetches: FetchQueue, counters: Counters, turns: Turns, log: Log) {
        self.turns = turns
        self.bus = bus
        self.log = log
        self.fetches = fetches
        self.counters = counters
    }

    var count: Int { bySlot.reduce(0) { $0 + $1.count } }

    subscript(conversation: ConversationID) -> Room? { bySlot[Int(conversation.slot.number)][conversation] }

    func count(in slot: Slot) -> Int { bySlot[Int(slot.number)].count }

    func forEach(in slot: Slot, _ body: (Room) -> Void) { bySlot[Int(slot.number)].values.forEach(body) }

    /// The room of a conversation. A new one begins at the given positions; one that is there learns of them.
    func open(_ conversation: ConversationID, lastSeq: Int64, statusVersion: Int64) -> Room {
        if let room = self[conversation] {
            room.learn(lastSeq)
            room.learnStatus(statusVersion)
            return room
        }
        let room = Room(conversation, lastSeq: lastSeq, statusVersion: statusVersion, in: self)
        bySlot[Int(conversation.slot.number)][conversation] = room
        hearWitnesses(room)
        return room
    }

    func removeIfEmpty(_ room: Room) {
        guard room.feed.isEmpty,
            bySlot[Int(room.conversation.slot.number)].removeValue(forKey: room.conversation) != nil
        else { return }
        closed(room)
    }

    private func hearWitnesses(_ room: Room) {
        let slot = room.conversation.slot
        changeWitness.testimony(about: room.conversation, in: slot)
            .settle(learn: { room.learn($0) }, doubt: { doubtChanges(slot) })
        statusWitness.testimony(about: room.conversation, in: slot)
            .settle(learn: { room.learnStatus($0) }, doubt: { doubtStatuses(slot) })
    }

    // MARK: From the bus

    func receiveChange(_ bytes: UnsafeRawBufferPointer, of frame: InboundFrame) {
        var reader = ByteReader(bytes)
        guard let entry = try? ChangeEntry(from: &reader) else {
            counters.entriesRefused += 1
            return bus.refuseEntry(of: frame)
        }
        let before = counters.deliveries
        receive(entry)
        if let trace = entry.trace { write(trace, entry, sessions: counters.deliveries - before) }
    }

    /// A change that came before its predecessors is held back, and goes to nobody yet.
    private func write(_ trace: TraceContext, _ entry: ChangeEntry, sessions: Int) {
        log.info(
            "traced: delivered", trace,
            [
                LogField("conversation", describing: entry.conversation), LogField("seq", entry.seq),
                LogField("sessions", sessions),
            ])
    }

    private func receive(_ entry: ChangeEntry) {
        if let room = self[entry.conversation] {
            // Repetitions are dropped before they cost an encoding.
            guard entry.seq > room.feed.last else { return }
            room.announce(ChangeFrame(entry))
        } else if changeWitness.isListening {
            changeWitness.saw(entry.conversation, entry.seq)
        }
    }

    func receiveStatus(_ bytes: UnsafeRawBufferPointer, of frame: InboundFrame) {
        var reader = ByteReader(bytes)
        guard let entry = try? StatusEntry(from: &reader) else {
            counters.entriesRefused += 1
            return bus.refuseEntry(of: frame)
        }
        if let room = self[entry.conversation] {
            room.announce(entry)
        } else {
            statusWitness.saw(entry.conversation, entry.version)
        }
    }

    // MARK: From digests and checks

    func learn(_ conversation: ConversationID, seq: Int64) {
        if let room = self[conversation] { room.learn(seq) } else { changeWitness.saw(conversation, seq) }
    }

    func learn(_ conversation: ConversationID, statusVersion: Int64) {
        if let room = self[conversation] {
            room.learnStatus(statusVersion)
        } else {
            statusWitness.saw(conversation, statusVersion)
        }
    }

    func positions(in slot: Slot) -> [StreamPosition] {
        bySlot[Int(slot.number)].map { StreamPosition(.conversation($0.key), $0.value.feed.last) }
    }

    func statusPositions(in slot: Slot) -> [StreamPosition] {
        bySlot[Int(slot.number)].map { StreamPosition(.conversation($0.key), $0.value.statusVersion) }
    }
}
