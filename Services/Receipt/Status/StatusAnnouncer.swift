import Bus
import Models
import Reactor
import Slots
import Wire

/// Announces on the bus which horizons moved, in one frame per conversation and commit. Nothing depends on its arrival:
/// the digest reveals what was lost.
@Reactor
final class StatusAnnouncer {
    private let bus: Bus
    private let slots: OwnedSlots
    private(set) var announced = 0

    init(bus: Bus, slots: OwnedSlots) {
        self.bus = bus
        self.slots = slots
    }

    /// - Parameter signals: those of a conversation are adjacent.
    func announce(_ signals: [MergedSignal], _ outcomes: [SignalOutcome]) {
        var status: StatusFields?
        for (signal, outcome) in zip(signals, outcomes) {
            guard case .reached(_, let advance?) = outcome, advance.isSeen else { continue }
            let conversation = signal.key.conversation
            if status?.conversation != conversation {
                if let status { announce(status) }
                status = StatusFields(conversation: conversation, version: advance.version, at: advance.at)
                slots.note(StreamPosition(.conversation(conversation), advance.version), in: conversation.slot)
            }
            if advance.memberCount <= ContractLimits.namedMembers { status?.add(signal.key.user, advance) }
        }
        if let status { announce(status) }
    }

    /// Notes that these signals may have been committed without being announced.
    func doubt(_ signals: [MergedSignal]) { slots.doubt(Set(signals.map(\.key.conversation.slot))) }

    private func announce(_ status: StatusFields) {
        announced += 1
        bus.append(to: .status(status.conversation.slot.group)) { status.writeEntry(to: &$0) }
    }
}

extension StatusFields {
    fileprivate mutating func add(_ user: UserID, _ advance: SignalOutcome.Advance) {
        namesMembers = true
        if let seq = advance.delivered { delivered.append((user, seq)) }
        if let seq = advance.shown { read.append((user, seq)) }
    }
}
