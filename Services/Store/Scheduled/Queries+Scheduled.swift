import Bytes
import JSON
import Models
import Postgres
import Slots
import Wire

/// What a user has scheduled.
enum ScheduledStatement {
    struct Input: NamedFields {
        let user: UserInput
        let inConversation: Parameter<ConversationID?>
        let after: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    struct Columns: NamedFields {
        let conversationId: Column<ConversationID>
        let messageId: Column<MessageID>
        let dueAt: Column<Timestamp>
        let text: Column<String>
        let replyTo: Column<MessageID?>
        let mentions: Column<String?>
        let extra: Column<String?>
        let useq: Column<Int64>
        let problem: Column<Int16?>
        let failedAt: Column<Timestamp?>
    }

    static let statement = PreparedStatement<Input, Columns>("scheduled", PackageResources.scheduled_sql, .store)
}

extension ScheduledFields {
    fileprivate init(_ row: Row, _ columns: ScheduledStatement.Columns) {
        self.init(
            conversation: row[columns.conversationId], id: row[columns.messageId], useq: row[columns.useq],
            at: row[columns.dueAt], text: row[columns.text], replyTo: row[columns.replyTo],
            mentions: row[columns.mentions] ?? "", extra: row[columns.extra] ?? "")
        if let code = row[columns.problem], let at = row[columns.failedAt] { failure = Failure(code, at: at) }
    }
}

extension Queries {
    /// `{scheduled, more}`
    func scheduled(_ query: ScheduledQuery) async throws -> [UInt8] {
        try await refuseErased(query.user)
        let limit = Int(query.limit)
        let rows = try await connection.query(ScheduledStatement.statement) { parameters, input in
            parameters.set(input.user, to: query.user)
            parameters.set(input.inConversation, to: query.conversation)
            parameters.set(input.after, to: query.after)
            // One more row shows whether there are more.
            parameters.set(input.limit, to: Int64(limit) + 1)
        }
        var buffer = ByteBuffer(capacity: 4096), count = 0
        buffer.beginObject()
        buffer.append(key: "scheduled")
        buffer.beginArray()
        for row in rows where count < limit && (count == 0 || buffer.count < ContractLimits.pageBytes) {
            buffer.beginElement()
            buffer.append(ScheduledFields(row, ScheduledStatement.statement.columns))
            count += 1
        }
        buffer.endArray()
        buffer.append(key: "more", json: rows.count > count)
        buffer.endObject()
        return buffer.array
    }
}
