import Postgres
import Wire

/// A member gives a conversation another title.
enum RenameConversation {
    struct Input: NamedFields {
        let write: WriteStatement.Input
        let title: Parameter<String>
    }

    static let statement = PreparedStatement<Input, WriteStatement.Columns>(
        "rename_conversation", PackageResources.rename_conversation_sql, .store)

    static func add(_ write: Write, _ request: RequestKey, _ title: String, to batch: inout Batch) {
        batch.execute(statement) { parameters, input in
            parameters.set(input.write, to: write, request)
            parameters.set(input.title, to: title)
        }
    }
}
