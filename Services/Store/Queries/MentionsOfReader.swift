import Bytes
import JSON
import Models
import Postgres
import Wire

/// The messages that mention a reader, in one conversation.
enum MentionsStatement {
    struct Input: NamedFields {
        let head: ReaderInput
        let after: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    struct Columns: NamedFields {
        let through: Column<Int64?>
        let message: MessageWithParentColumns
    }

    static let statement = PreparedStatement<Input, Columns>("mentions", PackageResources.mentions_sql, .store)
}

extension Queries {
    /// `{messages, through?}`
    func mentions(_ query: AfterPositionQuery) async throws -> [UInt8] {
        let rows = try await connection.query(MentionsStatement.statement) { parameters, input in
            parameters.set(input.head, to: query.head)
            parameters.set(input.after, to: query.after)
            parameters.set(input.limit, to: Int64(query.limit))
        }
        defer { extendLifetime(rows) }  // The texts point into them.
        guard let first = rows.first else { throw Problem.unknownConversation }
        let columns = MentionsStatement.statement.columns
        let found = rows.compactMap { row in
            MessageFields(row, columns.message.message, in: query.head.conversation).map {
                ($0, ParentView(row, columns.message))
            }
        }
        let receipts = try await receipts(of: found.map(\.0), for: query.head.reader)
        var buffer = ByteBuffer(capacity: 4096), through = first[columns.through], count = 0
        buffer.beginObject()
        buffer.append(key: "messages")
        buffer.beginArray()
        for (message, parent) in found where count == 0 || buffer.count < ContractLimits.pageBytes {
            buffer.beginElement()
            buffer.append(message, parent: parent, receipts: receipts[MessageKey(message)])
            count += 1
        }
        if count < found.count { through = found[count - 1].0.seq }
        buffer.endArray()
        if let through { buffer.append(key: "through", json: through) }
        buffer.endObject()
        return buffer.array
    }
}
