import Models
import Postgres
import Slots
import Wire

/// A message behind a write to it, as the write's batch read it.
struct WrittenMessage {
    private struct Input: NamedFields {
        let key: ConversationInput
        let message: Parameter<MessageID>
        let voter: Parameter<UserID?>
    }

    private struct Columns: NamedFields {
        let message: WholeMessageColumns
        let isSameToAll: Column<Bool>
    }

    private static let prepared = PreparedStatement<Input, Columns>(
        "written_message", PackageResources.written_message_sql, .store)
    static let statement = prepared.untyped

    /// - Parameter voter: whose vote in a poll its announcement shows.
    static func add(_ message: MessageID, in conversation: ConversationID, voter: UserID?, to batch: inout Batch) {
        batch.execute(prepared) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.message, to: message)
            parameters.set(input.voter, to: voter)
        }
    }

    /// Its texts live as long as the rows.
    let fields: MessageFields
    /// Whether every reader sees the same of it, the writer too.
    let isSameToAll: Bool
    private let rows: Rows

    /// Nil: there is no such message.
    init?(_ rows: Rows, in conversation: ConversationID) {
        guard let row = rows.first, let fields = MessageFields(row, Self.prepared.columns.message, in: conversation)
        else { return nil }
        self.fields = fields
        self.rows = rows
        isSameToAll = row[Self.prepared.columns.isSameToAll]
    }
}
