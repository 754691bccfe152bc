import Models
import Postgres
import Reactor
import ServiceKit
import Slots

/// Reads data of each newly acquired slot once, and retries after a failure.
@Reactor
final class SlotReading {
    private static let pause = Duration.milliseconds(200)

    /// Called with a slot before it is read.
    var onAcquired: @Reactor (Slot) -> Void = { _ in }
    /// Called with each row of a slot that is still owned.
    var onRow: @Reactor (Row) -> Void = { _ in }

    private let statement: Statement
    private let slots: OwnedSlots
    private let connection: QueryConnections
    private let log: Log
    private var unread: Set<Slot> = []
    private var isReading = false

    /// - Parameter statement: takes slots; the first column of its rows is the slot.
    init(_ statement: Statement, slots: OwnedSlots, connection: QueryConnections, log: Log) {
        self.statement = statement
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
            let rows = try await connection.query(statement) { parameters in
                parameters.addArray(of: .int2)
                for slot in asked { parameters.append(slot) }
            }
            for row in rows where slots.contains(row[0]) { onRow(row) }
        } catch {
            log.warning("what slots have could not be read", [LogField("reason", error.debugDescription)])
            unread.formUnion(asked)
            await Reactor.sleep(for: Self.pause)
        }
    }
}
