import Bus
import Bytes
import Models
import Reactor
import ServiceKit
import Wire

/// The conversations with sessions on this process. An entry of any other one costs one lookup.
@Reactor
final class Rooms {
    /// Changes in one fetched page.
    static let pageSize: UInt32 = 200
    /// The deadline of queries, long enough to replace a dead store.
    static let deadline = Duration.seconds(10)

    let bus: Bus
    let fetches: FetchQueue
    let counters: Counters
    let turns: Turns
    private let log: Log
    /// By slot, so that all conversations of a slot are found when its digests were missed.
    private var bySlot = [[ConversationID: Room]](repeating: [:], count: Slot.count)
    var changeRecorder = PositionRecorder<ConversationID>()
    var statusRecorder = PositionRecorder<ConversationID>()
    /// For `Presence`: a session's user has left; the last session has left a room; the size of a room changed whether
    /// its members see each other; somebody became a member or left.
    var left: @Reactor (Session, Room) -> Void = { _, _ in }
    var closed: @Reactor (Room) -> Void = { _ in }
    var resized: @Reactor (Room) -> Void = { _ in }
    var membership: @Reactor (Room, UserID, _ isMember: Bool) -> Void = { _, _, _ in }
    var doubtChanges: @Reactor (Slot) -> Void = { _ in }
    var doubtStatuses: @Reactor (Slot) -> Void = { _ in }
    /// Run a body after the changes that have arrived by now were handled; the same for receipts.
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

    /// Returns the room of a conversation. A new one starts at the given positions; an existing one learns of them.
    func open(_ conversation: ConversationID, lastSeq: Int64, statusVersion: Int64) -> Room {
        if let room = self[conversation] {
            room.learn(lastSeq)
            room.learnStatus(statusVersion)
            return room
        }
        let room = Room(conversation, lastSeq: lastSeq, statusVersion: statusVersion, in: self)
        bySlot[Int(conversation.slot.number)][conversation] = room
        applyRecordedPositions(room)
        return room
    }

    func removeIfEmpty(_ room: Room) {
        guard room.feed.isEmpty,
            bySlot[Int(room.conversation.slot.number)].removeValue(forKey: room.conversation) != nil
        else { return }
        closed(room)
    }

    private func applyRecordedPositions(_ room: Room) {
        let slot = room.conversation.slot
        changeRecorder.finding(for: room.conversation, in: slot)
            .apply(learn: { room.learn($0) }, doubt: { doubtChanges(slot) })
        statusRecorder.finding(for: room.conversation, in: slot)
            .apply(learn: { room.learnStatus($0) }, doubt: { doubtStatuses(slot) })
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

    /// Logs a traced change. One that came early is held back and has no deliveries yet.
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
            // Repetitions are dropped before they are encoded.
            guard entry.seq > room.feed.last else { return }
            room.announce(ChangeFrame(entry))
        } else if changeRecorder.isRecording {
            changeRecorder.record(entry.conversation, entry.seq)
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
            statusRecorder.record(entry.conversation, entry.version)
        }
    }

    // MARK: From digests and checks

    func learn(_ conversation: ConversationID, seq: Int64) {
        if let room = self[conversation] { room.learn(seq) } else { changeRecorder.record(conversation, seq) }
    }

    func learn(_ conversation: ConversationID, statusVersion: Int64) {
        if let room = self[conversation] {
            room.learnStatus(statusVersion)
        } else {
            statusRecorder.record(conversation, statusVersion)
        }
    }

    func positions(in slot: Slot) -> [StreamPosition] {
        bySlot[Int(slot.number)].map { StreamPosition(.conversation($0.key), $0.value.feed.last) }
    }

    func statusPositions(in slot: Slot) -> [StreamPosition] {
        bySlot[Int(slot.number)].map { StreamPosition(.conversation($0.key), $0.value.statusVersion) }
    }
}
