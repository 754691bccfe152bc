import Models
import Postgres
import Reactor
import ServiceKit
import Slots

/// Removes the receipts of messages that are kept no longer (`store`'s `Retention`), in the slots that this service owns.
///
/// It walks through the horizons, a page a second, and begins again behind the last one. What is due is found in the
/// database: how far a conversation is kept, and how many runs there are before. So nothing is forgotten, whoever owns a
/// slot, and no signal knows of it. Horizons stay.
@Reactor
final class ReceiptRetention: DueWork {
    nonisolated static let horizonsPerLook = 500
    nonisolated static let runsPerStep = 200
    /// Each stay that has ended is compared with each run. Where more have ended, everything stays.
    nonisolated static let endsLimit = 1_000
    private static let pause = Duration.seconds(1)

    private let connection: Connection
    private let slots: OwnedSlots
    private let log: Log
    /// Where the walk is.
    private var place = RunTrimStatements.start
    var isStopped = false
    /// The runs that were removed.
    private(set) var removed = 0

    /// - Parameter connection: the connection for background work.
    init(_ connection: Connection, slots: OwnedSlots, log: Log) {
        self.connection = connection
        self.slots = slots
        self.log = log
        planLook(after: Self.pause)
    }

    func look() async -> Duration {
        let owned = Slot.all.filter(slots.contains)
        guard connection.isUp, !owned.isEmpty else { return Self.pause }
        do throws(DatabaseError) {
            let page = try await RunTrimStatements.page(owned, after: place, on: connection)
            // First: what fails is found again, and keeps nothing else from going.
            place = page.count < Self.horizonsPerLook ? RunTrimStatements.start : page[page.count - 1].key
            for due in page where due.keptFrom != nil { try await trim(due) }
        } catch {
            log.warning("receipts are removed later", [LogField("reason", error.debugDescription)])
        }
        return Self.pause
    }

    /// Piece after piece. Rests for as long as each took, so others get at least half of the time.
    private func trim(_ due: RunTrimStatements.Found) async throws(DatabaseError) {
        for kind in RunKind.allCases {
            var before = due.keptFrom
            while let position = before, !isStopped, slots.contains(due.key.conversation.slot) {
                let start = MonotonicTime.now
                let step = try await RunTrimStatements.trim(due.key, kind, before: position, on: connection)
                removed += step.removed
                before = step.next
                await Reactor.sleep(for: .now - start)
            }
        }
    }
}
