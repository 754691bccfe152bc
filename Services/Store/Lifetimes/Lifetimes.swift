import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Sees to it that messages go when their time is over, in the slots that this store owns.
///
/// Where and when is in the database (`store.lifetimes`), so nothing is forgotten whoever owns a slot. A send knows nothing of it: a
/// lifetime and the position that it began at say of every message when it ends. Nor does a reading: what is not read when a store
/// looks is not over before one lifetime has passed, and then it looks again. A former owner may look, too; every step may be repeated.
@Reactor
final class Lifetimes: DueWork {
    /// The lifetimes that a conversation has had and that messages are still there with.
    nonisolated static let rangesLimit = 16
    /// The messages that one step deletes. It holds its conversation for some milliseconds.
    nonisolated static let messagesPerStep = 100
    /// The acts of reading of each member that one step looks at.
    nonisolated static let runsPerReader = 100
    nonisolated static let conversationsPerLook = 64
    /// The conversations that are worked on at a time.
    private static let atOnce = 8
    /// Between looks that find nothing more: how late messages are gone if there is nothing else to do.
    private static let pause = Duration.seconds(1)
    private static let deadline = Duration.seconds(5)

    struct DueColumns: NamedFields { let conversationId: Column<ConversationID> }

    nonisolated static let due = PreparedStatement<SlotsInput, DueColumns>(
        "due_lifetimes", PackageResources.due_lifetimes_sql, .store)

    private let bus: Bus
    private let slots: OwnedSlots
    private let connection: QueryConnections
    private let log: Log
    var isStopped = false
    /// The messages that have gone.
    var expired = 0

    /// - Parameter connection: the connection for queries.
    init(bus: Bus, slots: OwnedSlots, connection: QueryConnections, log: Log) {
        self.bus = bus
        self.slots = slots
        self.connection = connection
        self.log = log
        planLook(after: Self.pause)
    }

    func look() async -> Duration {
        let owned = Slot.all.filter(slots.contains)
        guard connection.isUp, !owned.isEmpty else { return Self.pause }
        let start = MonotonicTime.now
        do {
            let rows = try await connection.query(Self.due) { $0.set($1.slots, to: owned) }
            let found = rows.map { $0[Self.due.columns.conversationId] }
            var rest = found[...]
            while !rest.isEmpty, !isStopped {
                await expire(in: rest.prefix(Self.atOnce))
                rest = rest.dropFirst(Self.atOnce)
            }
            // Rests for as long as it worked, so others get at least half of the time.
            return found.count == Self.conversationsPerLook ? .now - start : Self.pause
        } catch {
            log.warning("messages expire later", [LogField("reason", error.debugDescription)])
            return Self.pause
        }
    }

    /// A step in each, until nothing is due in any.
    private func expire(in conversations: ArraySlice<ConversationID>) async {
        var due = conversations
        while !due.isEmpty, !isStopped {
            let start = MonotonicTime.now
            due = await step(in: due)[...]
            await Reactor.sleep(for: .now - start)
        }
    }

    /// - Returns: those in which more is due. Whatever fails is found by the next look.
    private func step(in conversations: ArraySlice<ConversationID>) async -> [ConversationID] {
        await withUnsafeContinuation { continuation in
            var left: [ConversationID] = []
            var waiting = conversations.count
            for conversation in conversations {
                let step = ExpireMessages(in: conversation)
                bus.request(.expireMessages, in: conversation.slot, deadline: Self.deadline) {
                    step.write(to: &$0)
                } completion: { outcome in
                    if case .response(let response) = outcome, response.status == 200 { left.append(conversation) }
                    waiting -= 1
                    if waiting == 0 { continuation.resume(returning: left) }
                }
            }
        }
    }
}

extension MessageLifetime {
    /// From the columns of a conversation or a change. Nil: there is none.
    init?(_ seconds: Int32?, fromReading: Bool?, since position: Int64?) {
        guard let seconds, let position else { return nil }
        self.init(seconds: Int(seconds), from: fromReading ?? false ? .reading : .sending, sinceSeq: position)
    }
}
