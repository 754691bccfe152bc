import Bytes
import JSON
import Models
import Postgres
import Wire

extension Queries {
    /// `{revisions: [{text, at}]}`, oldest first, the present text last.
    func revisions(_ query: MessageQuery) async throws -> [UInt8] {
        let rows = try await connection.query(RevisionsStatement.statement) { MessageStatement.add(query, to: &$0) }
        guard !rows.isEmpty else { throw Problem(.notFound, "there is no such message") }
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append(key: "revisions")
        buffer.beginArray()
        for row in rows {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "text", utf8: row[0])
            buffer.append(key: "at", json: row[1] as Timestamp)
            buffer.endObject()
        }
        buffer.endArray()
        buffer.endObject()
        return buffer.array
    }

    /// `{tapbacks: [{userId, kind, at}], counts: {kind: n}, nextCursor?}`
    func tapbacks(_ query: AfterUserQuery) async throws -> [UInt8] {
        let limit = Int(query.limit)
        let rows = try await connection.query(TapbacksStatement.statement) { parameters in
            MessageStatement.add(query.message, to: &parameters)
            parameters.add(query.after)
            parameters.add(Int64(limit) + 1)
        }
        guard let first = rows.first else { throw Problem(.notFound, "there is no such message") }
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append(key: "tapbacks")
        buffer.beginArray()
        for row in rows.prefix(limit) where !row.isNull(0) {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "userId", json: row[0] as UserID)
            buffer.append(key: "kind", utf8: row[1])
            buffer.append(key: "at", json: row[2] as Timestamp)
            buffer.endObject()
        }
        buffer.endArray()
        buffer.append(key: "counts", encoded: first[3])
        if rows.count > limit { buffer.append(key: "nextCursor", json: rows[limit - 1][0] as String) }
        buffer.endObject()
        return buffer.array
    }

    /// Responds to a successful write with the present state, also when it is repeated.
    func answerWrite(_ request: RequestKey, _ write: Write) async {
        let head = ConversationQuery(write.conversation, reader: write.actor)
        await finish(request, for: .user(write.actor)) { [self] in
            switch write.action {
            case .edit(let message, _), .setTapback(let message, _):
                try await self.message(MessageQuery(head, message: message), by: MessageStatement.ofWriter)
            case .putMember(let user, _): try await member(user, head)
            case .rename: try await conversation(head)
            case .putSettings: try await conversationSettings(head)
            case .deleteForEveryone, .hide, .removeTapback, .removeMember, .clearHistory, .unlist: []
            }
        }
    }
}
