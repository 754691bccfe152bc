import Bytes
import JSON
import Models
import Postgres
import Slots
import Wire

/// The requests that wait for a user: twice `ContractLimits.waitingRequests` at most, so there are no pages.
enum RequestsStatement {
    /// Where the stay of somebody ends who reads a conversation and is asked about it: nowhere, and they are no member.
    static let end = Int64.max

    struct Columns: NamedFields {
        let conversationId: Column<ConversationID>
        let at: Column<Timestamp>
        let actorId: Column<UserID?>
    }

    static let statement = PreparedStatement<UserInput, Columns>("requests", PackageResources.requests_sql, .store)
    static let columns = statement.columns
}

extension Queries {
    /// `{requests: [{at, userId?, conversation}]}`
    func requests(_ query: SettingsQuery) async throws -> [UInt8] {
        try await refuseErased(query.user)
        let columns = RequestsStatement.columns
        let waiting = try await connection.query(RequestsStatement.statement, .heavy) { $0.set($1, to: query.user) }
        let rows = try await conversations(waiting.map { $0[columns.conversationId] }, of: query.user)
        let listed = try await completed(rows.map { ListedConversation($0) }, of: query.user)
        defer { extendLifetime((rows, listed)) }  // The texts point into them.
        let receipts = try await receipts(of: listed.compactMap(\.message), for: query.user)
        let byID = Dictionary(listed.map { ($0.conversation.id, $0) }) { first, _ in first }
        var buffer = ByteBuffer(capacity: 4096)
        buffer.beginObject()
        buffer.append(key: "requests")
        buffer.beginArray()
        for row in waiting where buffer.count < ContractLimits.pageBytes {
            // Decided since.
            guard let request = byID[row[columns.conversationId]], request.conversation.isRequest else { continue }
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "at", json: row[columns.at])
            buffer.append(key: "userId", json: row[columns.actorId])
            buffer.append(key: "conversation")
            buffer.append(request, receipts)
            buffer.endObject()
        }
        buffer.endArray()
        buffer.endObject()
        return buffer.array
    }
}
