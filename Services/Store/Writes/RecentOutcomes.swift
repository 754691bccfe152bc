import Models
import Postgres
import Reactor
import Slots

/// Forgets outcomes of writes without a key once the bus can no longer repeat them. It deletes a few rows at a time,
/// slot by slot.
@Reactor
final class RecentOutcomes {
    /// How long outcomes are kept. A requester repeats a request for seconds only, but a frame may wait in queues, and
    /// in a stalled process for as long as that process keeps its slots.
    nonisolated static let keptFor = Duration.seconds(900)
    nonisolated static let rowsPerStep = 1_000
    private static let pause = Duration.seconds(1)
    /// The pause while more remains: 20,000 rows a second.
    private static let shortPause = Duration.milliseconds(50)

    struct Input: NamedFields {
        let slot: Parameter<Slot>
    }

    struct Columns: NamedFields {
        let forgotten: Column<Int64>
    }

    nonisolated static let sweep = PreparedStatement<Input, Columns>(
        "sweep_recent_outcomes", PackageResources.sweep_recent_outcomes_sql, .store)

    private let connection: Connection
    private let slots: OwnedSlots
    private var slot = Slot(0)
    private(set) var forgotten = 0

    init(_ connection: Connection, slots: OwnedSlots) {
        self.connection = connection
        self.slots = slots
        planStep(after: Self.pause)
    }

    private func planStep(after pause: Duration) {
        Reactor.after(pause) { [weak self] in self?.step() }
    }

    private func step() {
        guard connection.isUp, let next = slots.next(from: slot) else { return planStep(after: Self.pause) }
        slot = next
        connection.submit {
            $0.execute(Self.sweep) { $0.set($1.slot, to: next) }
        } completion: { [weak self] in
            self?.swept($0)
        }
    }

    private func swept(_ outcome: BatchOutcome) {
        var count = 0
        if case .committed(let rows) = outcome, let row = rows.first?.first {
            count = Int(row[Self.sweep.columns.forgotten])
        }
        forgotten += count
        if count == Self.rowsPerStep { return planStep(after: Self.shortPause) }
        slot = slot.following
        planStep(after: Self.pause)
    }
}

extension Slot {
    fileprivate var following: Slot { Slot(number &+ 1) }
}

extension OwnedSlots {
    /// The first owned slot at or after `start`, wrapping around at the end.
    fileprivate func next(from start: Slot) -> Slot? {
        (0..<Slot.count).lazy.map { Slot(start.number &+ UInt8($0)) }.first(where: contains)
    }
}
