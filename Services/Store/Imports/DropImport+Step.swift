import Bus
import Models
import Postgres
import Reactor
import Slots
import Wire

/// Takes away a piece of an import that has not ended.
extension DropImport: BatchStep {
    var isOfOneSlot: Bool { false }

    /// Messages, and changes: some tens of milliseconds.
    static let rowsPerStep = 5_000

    private struct Input: NamedFields {
        let key: ConversationInput
        let receiptsAreGone: Parameter<Bool>
    }

    private struct Columns: NamedFields {
        let verdict: Column<ImportVerdict>
        let isDone: Column<Bool>
    }

    private static let statement = PreparedStatement<Input, Columns>(
        "import_drop", PackageResources.import_drop_sql, .store)

    static var statements: [Statement] { [statement.untyped] }
    static var isBackgroundWork: Bool { true }
    static var isImport: Bool { true }

    func lock(_ locks: inout Locks) {
        locks.insert(conversation: conversation)
        locks.insert(searchOf: conversation)
        locks.insert(streamsOfImport: conversation)
    }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) {
        batch.execute(Self.statement) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.receiptsAreGone, to: receiptsAreGone)
        }
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let columns = Self.statement.columns, row = rows.row
        if let problem = row[columns.verdict].problem {
            outcomes.bus.respond(to: command.request, problem)
        } else {
            outcomes.bus.respond(to: command.request, status: row[columns.isDone] ? 204 : 202)
        }
    }
}
