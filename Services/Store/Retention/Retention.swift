import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Sees to it that messages are removed that are kept no longer, in the slots that this store owns.
///
/// It walks through the conversations, a page a second, and begins again behind the last one. What is due is found in the
/// database, so nothing is forgotten whoever owns a slot, and a send knows nothing of it. Every step may be repeated.
@Reactor
final class Retention: DueWork {
    /// One step's: it holds its conversation for some tens of milliseconds.
    nonisolated static let messagesPerStep = 1_000
    /// The tapbacks that go with them, and the changes.
    nonisolated static let rowsPerStep = 5_000
    nonisolated static let conversationsPerLook = 200
    private static let pause = Duration.seconds(1)
    private static let deadline = Duration.seconds(5)

    struct DueInput: NamedFields {
        let slots: Parameter<[Slot]>
        let after: Parameter<ConversationID>
        let days: Parameter<Int32?>
    }

    struct DueColumns: NamedFields {
        let conversationId: Column<ConversationID>
        let isDue: Column<Bool>
    }

    nonisolated static let due = PreparedStatement<DueInput, DueColumns>(
        "due_trims", PackageResources.due_trims_sql, .store)

    private let bus: Bus
    private let slots: OwnedSlots
    private let connection: QueryConnections
    /// How long messages stay in all conversations. Nil: without an end.
    private let days: Int32?
    private let log: Log
    /// Where the walk is.
    private var last = ConversationID(.zero)
    var isStopped = false
    /// The messages that were removed.
    var removed = 0

    /// - Parameter connection: the connection for queries.
    init(bus: Bus, slots: OwnedSlots, connection: QueryConnections, days: Int32?, log: Log) {
        self.bus = bus
        self.slots = slots
        self.connection = connection
        self.days = days
        self.log = log
        planLook(after: Self.pause)
    }

    func look() async -> Duration {
        let owned = Slot.all.filter(slots.contains)
        guard connection.isUp, !owned.isEmpty else { return Self.pause }
        do {
            let rows = try await connection.query(Self.due) { parameters, input in
                parameters.set(input.slots, to: owned)
                parameters.set(input.after, to: last)
                parameters.set(input.days, to: days)
            }
            let columns = Self.due.columns
            let page = rows.map { (conversation: $0[columns.conversationId], isDue: $0[columns.isDue]) }
            last = page.count < Self.conversationsPerLook ? ConversationID(.zero) : page[page.count - 1].conversation
            for found in page where found.isDue { await trim(found.conversation) }
        } catch {
            log.warning("messages are removed later", [LogField("reason", error.debugDescription)])
        }
        return Self.pause
    }

    /// Step after step. Rests for as long as each took, so others get at least half of the time. What fails is found again.
    private func trim(_ conversation: ConversationID) async {
        var isDue = true
        while isDue, !isStopped {
            let start = MonotonicTime.now
            isDue = await step(in: conversation)
            await Reactor.sleep(for: .now - start)
        }
    }

    /// - Returns: whether more is due.
    private func step(in conversation: ConversationID) async -> Bool {
        let step = TrimHistory(in: conversation, days: days)
        return await withUnsafeContinuation { continuation in
            bus.request(.trimHistory, in: conversation.slot, deadline: Self.deadline) {
                step.write(to: &$0)
            } completion: { outcome in
                guard case .response(let response) = outcome else { return continuation.resume(returning: false) }
                continuation.resume(returning: response.status == 200)
            }
        }
    }
}
