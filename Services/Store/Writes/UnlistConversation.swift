import Postgres
import Wire

/// A former member takes a conversation out of their list.
enum UnlistConversation {
    struct Input: NamedFields {
        let write: WriteStatement.Input
        let limit: Parameter<Int32>
    }

    static let statement = PreparedStatement<Input, WriteStatement.Columns>(
        "unlist_conversation", PackageResources.unlist_conversation_sql, .store)

    static func add(_ write: Write, _ request: RequestKey, _ limit: Int32, to batch: inout Batch) {
        batch.execute(statement) { parameters, input in
            parameters.set(input.write, to: write, request)
            parameters.set(input.limit, to: limit)
        }
    }
}
