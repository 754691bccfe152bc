import Postgres
import Wire

/// The sender gives a message another text.
enum EditMessage {
    struct Input: NamedFields {
        let write: WriteStatement.Input
        let text: Parameter<String>
    }

    static let statement = PreparedStatement<Input, WriteStatement.Columns>(
        "edit_message", PackageResources.edit_message_sql, .store)

    static func add(_ write: Write, _ request: RequestKey, _ text: String, to batch: inout Batch) {
        batch.execute(statement) { parameters, input in
            parameters.set(input.write, to: write, request)
            parameters.set(input.text, to: text)
        }
    }
}
