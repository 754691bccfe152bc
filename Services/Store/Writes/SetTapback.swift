import Postgres
import Wire

/// Sets a tapback. The last tapback of a user on a message wins.
enum SetTapback {
    struct Input: NamedFields {
        let write: WriteStatement.Input
        let kind: Parameter<String>
    }

    static let statement = PreparedStatement<Input, WriteStatement.Columns>(
        "set_tapback", PackageResources.set_tapback_sql, .store)

    static func add(_ write: Write, _ request: RequestKey, _ kind: String, to batch: inout Batch) {
        batch.execute(statement) { parameters, input in
            parameters.set(input.write, to: write, request)
            parameters.set(input.kind, to: kind)
        }
    }
}
