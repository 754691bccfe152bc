import Postgres
import Wire

/// How a user decides for one conversation.
enum PutConversationSettings {
    struct Input: NamedFields {
        let write: WriteStatement.Input
        let sets: Parameter<Bool>
        let readReceipts: Parameter<Bool?>
    }

    static let statement = PreparedStatement<Input, WriteStatement.Columns>(
        "put_conversation_settings", PackageResources.put_conversation_settings_sql, .store)

    static func add(_ write: Write, _ request: RequestKey, _ readReceipts: SettingChange, to batch: inout Batch) {
        batch.execute(statement) { parameters, input in
            parameters.set(input.write, to: write, request)
            parameters.set(input.sets, to: readReceipts != .leave)
            parameters.set(input.readReceipts, to: readReceipts.value)
        }
    }
}
