import Models
import Postgres
import Reactor
import ServiceKit
import Slots

/// Reads data of each newly acquired slot once, and retries after a failure.
@Reactor
final class SlotReading<Columns: NamedFields> {
    private static var pause: Duration { .milliseconds(200) }

    /// Called with a slot before it is read.
    var onAcquired: @Reactor (Slot) -> Void = { _ in }
    /// Called with each row of a slot that is still owned.
    var onRow: @Reactor (Row) -> Void = { _ in }

    private let statement: PreparedStatement<SlotsInput, Columns>
    private let slot: Column<Slot>
    private let slots: OwnedSlots
    private let connection: QueryConnections
    private let log: Log
    private var unread: Set<Slot> = []
    private var isReading = false

    /// - Parameter slot: the column with the slot.
    init(
        _ statement: PreparedStatement<SlotsInput, Columns>, slot: Column<Slot>, slots: OwnedSlots,
        connection: QueryConnections, log: Log
    ) {
        self.statement = statement
        self.slot = slot
        self.slots = slots
        self.connection = connection
        self.log = log
        slots.onAcquired { [weak self] in self?.acquired($0) }
        connection.onUp { [weak self] in self?.plan() }
    }

    private func acquired(_ slot: Slot) {
        onAcquired(slot)
        unread.insert(slot)
        plan()
    }

    private func plan() {
        guard !isReading, !unread.isEmpty, connection.isUp else { return }
        isReading = true
        Reactor.spawn { [self] in
            await read()
            isReading = false
            plan()
        }
    }

    private func read() async {
        let asked = unread
        unread = []
        do {
            let rows = try await connection.query(statement) { $0.set($1.slots, to: asked) }
            for row in rows where slots.contains(row[slot]) { onRow(row) }
        } catch {
            log.warning("what slots have could not be read", [LogField("reason", error.debugDescription)])
            unread.formUnion(asked)
            await Reactor.sleep(for: Self.pause)
        }
    }
}

/// The slots that a statement reads.
struct SlotsInput: NamedFields { let slots: Parameter<[Slot]> }

/// The numbered rows of a slot after one of them.
struct AfterNumberInput: NamedFields {
    let slot: Parameter<Slot>
    let after: Parameter<Int64>
}

extension Parameters {
    mutating func set(_ input: AfterNumberInput, to slot: Slot, after number: Int64) {
        set(input.slot, to: slot)
        set(input.after, to: number)
    }
}
