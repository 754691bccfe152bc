import Postgres
import Wire

/// What a user sees of a conversation begins later, for them alone.
enum ClearHistory {
    struct Input: NamedFields {
        let write: WriteStatement.Input
        let through: Parameter<Int64>
    }

    static let statement = PreparedStatement<Input, WriteStatement.Columns>(
        "clear_history", PackageResources.clear_history_sql, .store)

    static func add(_ write: Write, _ request: RequestKey, _ through: Int64, to batch: inout Batch) {
        batch.execute(statement) { parameters, input in
            parameters.set(input.write, to: write, request)
            parameters.set(input.through, to: through)
        }
    }
}
