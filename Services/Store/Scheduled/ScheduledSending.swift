import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Sees to it that scheduled messages are sent at their time, for the users whose slots this store owns.
///
/// What is due is in the database alone, so nothing is forgotten whoever owns a slot. A message is sent where its conversation is, by
/// a step that any store may ask for at any time. Those of one author in one conversation go by their times: each step takes the
/// first one. Each author and conversation has a step in turn, so that nobody's hundred messages hold up those of others.
@Reactor
final class ScheduledSending: DueWork {
    /// The authors, each with a conversation, that are found at a time.
    nonisolated static let atOneLook = 64
    /// The steps in flight.
    private static let atOnce = 8
    /// Between looks that find nothing: how late a message is sent if there is nothing else to do.
    private static let pause = Duration.seconds(1)
    private static let deadline = Duration.seconds(5)

    struct DueColumns: NamedFields {
        let userId: Column<UserID>
        let conversationId: Column<ConversationID>
        let lag: Column<Int64>
    }

    nonisolated static let due = PreparedStatement<SlotsInput, DueColumns>(
        "due_scheduled", PackageResources.due_scheduled_sql, .store)

    private let bus: Bus
    private let slots: OwnedSlots
    private let connection: QueryConnections
    private let log: Log
    var isStopped = false
    /// Whether what carries attachments may be replied to.
    var answersAttachments = false
    private(set) var sent = 0
    private(set) var failed = 0
    /// How long the message that waits longest was due at the last look, in milliseconds.
    private(set) var lag: Int64 = 0

    /// - Parameter connection: the connection for queries.
    init(bus: Bus, slots: OwnedSlots, connection: QueryConnections, log: Log) {
        self.bus = bus
        self.slots = slots
        self.connection = connection
        self.log = log
        planLook(after: Self.pause)
    }

    /// A message was sent, or might not be.
    func note(isSent: Bool) {
        if isSent { sent += 1 } else { failed += 1 }
    }

    /// Sends what is due already, because it was scheduled for now. If that fails, a look finds it.
    func send(of user: UserID, in conversation: ConversationID) {
        request(step(of: user, in: conversation)) { _ in }
    }

    func look() async -> Duration {
        let owned = Slot.all.filter(slots.contains)
        guard connection.isUp, !owned.isEmpty else { return Self.pause }
        let start = MonotonicTime.now
        do {
            let rows = try await connection.query(Self.due) { $0.set($1.slots, to: owned) }
            let columns = Self.due.columns
            lag = rows.first.map { $0[columns.lag] } ?? 0
            let found = rows.map { step(of: $0[columns.userId], in: $0[columns.conversationId]) }
            var rest = found[...], isMoving = false
            while !rest.isEmpty, !isStopped {
                let begun = MonotonicTime.now
                isMoving = await steps(rest.prefix(Self.atOnce)) || isMoving
                rest = rest.dropFirst(Self.atOnce)
                // Rests for as long as it worked, so others get at least half of the time.
                if !rest.isEmpty { await Reactor.sleep(for: .now - begun) }
            }
            return isMoving ? .now - start : Self.pause
        } catch {
            log.warning("scheduled messages are sent later", [LogField("reason", error.debugDescription)])
            return Self.pause
        }
    }

    private func step(of user: UserID, in conversation: ConversationID) -> SendScheduled {
        SendScheduled(of: user, in: conversation, answersAttachments: answersAttachments)
    }

    /// - Returns: whether any of them had something to send. Whatever fails is found by the next look.
    private func steps(_ steps: ArraySlice<SendScheduled>) async -> Bool {
        await withUnsafeContinuation { continuation in
            var waiting = steps.count, isMoving = false
            for step in steps {
                request(step) { wasDue in
                    isMoving = wasDue || isMoving
                    waiting -= 1
                    if waiting == 0 { continuation.resume(returning: isMoving) }
                }
            }
        }
    }

    private func request(_ step: SendScheduled, _ completion: @escaping @Reactor (Bool) -> Void) {
        bus.request(.sendScheduled, in: step.conversation.slot, deadline: Self.deadline) {
            step.write(to: &$0)
        } completion: { outcome in
            if case .response(let response) = outcome { completion(response.status == 200) } else { completion(false) }
        }
    }
}
