import Bus
import Bytes
import Models
import Postgres
import Reactor
import Slots
import Wire

/// Deletes messages whose time is over.
extension ExpireMessages: BatchStep {
    var isOfOneSlot: Bool { true }

    struct Columns: NamedFields {
        let lastSeq: Column<Int64?>
        let positions: Column<Int64?>
        let released: Column<Int64>
        let isDue: Column<Bool>
    }

    static let statement = PreparedStatement<ConversationInput, Columns>(
        "expire_messages", PackageResources.expire_messages_sql, .store)
    /// Follows it and returns its changes for the announcement.
    static let announced = PreparedStatement<ConversationInput, FeedStatement.Columns>(
        "announced_expiries", PackageResources.announced_expiries_sql, .store)

    static var statements: [Statement] { [statement.untyped, announced.untyped] }
    static var isBackgroundWork: Bool { true }

    var rowCount: Int { Lifetimes.messagesPerStep }

    func lock(_ locks: inout Locks) {
        locks.insert(conversation: conversation)
        locks.insert(searchOf: conversation)
    }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) {
        batch.execute(Self.statement) { $0.set($1, to: conversation) }
        batch.execute(Self.announced) { $0.set($1, to: conversation) }
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let row = rows.row, columns = Self.statement.columns
        if let last = row[columns.lastSeq], let count = row[columns.positions] {
            outcomes.announcer.announce(conversation, last - count + 1..<last + 1, of: rows[1], nil)
            outcomes.lifetimes.expired += Int(count)
        }
        if row[columns.released] > 0 { outcomes.releases.note(conversation.slot) }
        outcomes.bus.respond(to: command.request, status: row[columns.isDue] ? 200 : 204)
    }
}
