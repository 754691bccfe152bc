import Bytes
import JSON
import Models
import Postgres
import Wire

/// The messages that are pinned in a conversation, as a reader sees them.
enum PinnedMessagesStatement {
    struct Input: NamedFields {
        let head: ReaderInput
        let before: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    static let statement = PreparedStatement<Input, MessageWithParentColumns>(
        "pinned_messages", PackageResources.pinned_messages_sql, .store)
    static let columns = statement.columns
}

extension Queries {
    /// `{messages, more}`
    func pinnedMessages(_ query: PinnedMessagesQuery) async throws -> [UInt8] {
        let limit = Int(query.limit)
        let rows = try await connection.query(PinnedMessagesStatement.statement) { parameters, input in
            parameters.set(input.head, to: query.head)
            parameters.set(input.before, to: query.before)
            // One more row shows whether there are more.
            parameters.set(input.limit, to: Int64(limit) + 1)
        }
        defer { extendLifetime(rows) }  // The texts point into them.
        guard !rows.isEmpty else { throw Problem.unknownConversation }
        let columns = PinnedMessagesStatement.columns
        let found = rows.compactMap { row in
            MessageFields(row, columns.message, in: query.head.conversation).map { ($0, ParentView(row, columns)) }
        }
        let page = found.prefix(limit)
        let receipts = try await receipts(of: page.map(\.0), for: query.head.reader)
        var buffer = ByteBuffer(capacity: 4096), count = 0
        buffer.beginObject()
        buffer.append(key: "messages")
        buffer.beginArray()
        for (message, parent) in page where count == 0 || buffer.count < ContractLimits.pageBytes {
            buffer.beginElement()
            buffer.append(message, parent: parent, receipts: receipts[MessageKey(message)])
            count += 1
        }
        buffer.endArray()
        buffer.append(key: "more", json: found.count > count)
        buffer.endObject()
        return buffer.array
    }
}
