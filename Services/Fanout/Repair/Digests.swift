import Bus
import Bytes
import Models
import Reactor
import Wire

/// Finds lost frames that no later frame reveals, by the digests of stores and receipt services.
@Reactor
final class Digests {
    private let rooms: Rooms
    private let streams: PrivateStreams
    private let counters: Counters
    private var stores = DigestTracker()
    private var receipts = DigestTracker()
    private let changes: PositionCheck
    private let privateChanges: PositionCheck
    private let statuses: PositionCheck

    init(bus: Bus, rooms: Rooms, streams: PrivateStreams, counters: Counters, turns: Turns) {
        self.rooms = rooms
        self.streams = streams
        self.counters = counters
        let queryStore: PositionCheck.Query = { slot, held, then in
            let kind = StoreRequestKind.positions
            bus.request(kind, in: slot, deadline: Rooms.deadline, fields: { held.write(to: &$0) }, completion: then)
        }
        let queryReceipt: PositionCheck.Query = { slot, held, then in
            let kind = ReceiptRequestKind.positions
            bus.request(kind, in: slot, deadline: Rooms.deadline, fields: { held.write(to: &$0) }, completion: then)
        }
        changes = PositionCheck(held: { rooms.positions(in: $0) }, query: queryStore, turns: turns) {
            rooms.learnChange($0)
        }
        privateChanges = PositionCheck(held: { streams.positions(in: $0) }, query: queryStore, turns: turns) {
            streams.learn($0)
        }
        statuses = PositionCheck(held: { rooms.statusPositions(in: $0) }, query: queryReceipt, turns: turns) {
            rooms.learnStatus($0)
        }
        rooms.doubtChanges = { [changes] in changes.doubt($0) }
        rooms.doubtStatuses = { [statuses] in statuses.doubt($0) }
        streams.doubt = { [privateChanges] in privateChanges.doubt($0) }
    }

    /// Handles a store's digest: the changes of a slot's conversations, and of the private streams that moved with
    /// them.
    func receiveFromStore(_ entry: UnsafeRawBufferPointer, of frame: InboundFrame) {
        guard let digest = digest(entry, of: frame) else { return }
        switch verdict(of: digest, &stores) {
        case .outdated: return
        case .complete: break
        case .incomplete: doubtChanges(in: digest.slot)
        }
        for position in digest.moved {
            rooms.learnChange(position)
            streams.learn(position)
        }
    }

    func receiveFromReceipt(_ entry: UnsafeRawBufferPointer, of frame: InboundFrame) {
        guard let digest = digest(entry, of: frame) else { return }
        switch verdict(of: digest, &receipts) {
        case .outdated: return
        case .complete: break
        case .incomplete:
            rooms.statusRecorder.recordLoss(in: digest.slot)
            statuses.doubt(digest.slot)
        }
        for position in digest.moved { rooms.learnStatus(position) }
    }

    /// Checks the slot's conversations and all private streams, since any of these may have moved with a conversation
    /// of the slot.
    private func doubtChanges(in slot: Slot) {
        rooms.changeRecorder.recordLoss(in: slot)
        changes.doubt(slot)
        streams.recorder.recordTotalLoss()
        privateChanges.doubtAll()
    }

    private func verdict(of digest: DigestEntry, _ tracker: inout DigestTracker) -> DigestTracker.Verdict {
        let hasContent = !digest.moved.isEmpty
        let verdict = tracker.note(digest.slot, epoch: digest.epoch, number: digest.number, hasContent: hasContent)
        counters.digestsReceived += 1
        if verdict == .incomplete { counters.digestsIncomplete += 1 }
        return verdict
    }

    private func digest(_ entry: UnsafeRawBufferPointer, of frame: InboundFrame) -> DigestEntry? {
        var reader = ByteReader(entry)
        if let digest = try? DigestEntry(from: &reader) { return digest }
        counters.entriesRefused += 1
        rooms.bus.refuseEntry(of: frame)
        return nil
    }
}

extension Rooms {
    fileprivate func learnChange(_ position: StreamPosition) {
        if case .conversation(let conversation) = position.key { learn(conversation, seq: position.position) }
    }

    fileprivate func learnStatus(_ position: StreamPosition) {
        if case .conversation(let conversation) = position.key {
            learn(conversation, statusVersion: position.position)
        }
    }
}

extension PrivateStreams {
    fileprivate func learn(_ position: StreamPosition) {
        if case .user(let user) = position.key { learn(user, useq: position.position) }
    }
}
