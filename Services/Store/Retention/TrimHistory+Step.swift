import Bus
import Models
import Postgres
import Reactor
import Slots
import Wire

/// Removes messages that are kept no longer.
extension TrimHistory: BatchStep {
    var isOfOneSlot: Bool { true }

    private struct Input: NamedFields {
        let key: ConversationInput
        let days: Parameter<Int32?>
    }

    private struct Columns: NamedFields {
        let lastSeq: Column<Int64?>
        let messages: Column<Int64>
        let released: Column<Int64>
        let isDue: Column<Bool>
    }

    private static let statement = PreparedStatement<Input, Columns>(
        "trim_history", PackageResources.trim_history_sql, .store)

    static var statements: [Statement] { [statement.untyped] }
    static var isBackgroundWork: Bool { true }

    var rowCount: Int { Retention.messagesPerStep }

    func lock(_ locks: inout Locks) {
        locks.insert(conversation: conversation)
        locks.insert(searchOf: conversation)
    }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) {
        batch.execute(Self.statement) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.days, to: days)
        }
        FeedStatement.addLatest(of: conversation, to: &batch)
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let row = rows.row, columns = Self.statement.columns
        if let last = row[columns.lastSeq] {
            outcomes.announcer.announce(conversation, last..<last + 1, of: rows[1], nil)
            outcomes.retention.removed += Int(row[columns.messages])
        }
        if row[columns.released] > 0 { outcomes.releases.note(conversation.slot) }
        outcomes.bus.respond(to: command.request, status: row[columns.isDue] ? 200 : 204)
    }
}
