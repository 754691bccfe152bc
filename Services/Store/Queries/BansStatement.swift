import Bytes
import JSON
import Models
import Postgres
import Wire

/// Who is banned from a conversation, for those who may lift it.
enum BansStatement {
    struct Columns: NamedFields {
        let role: Column<MemberRole?>
        let userId: Column<UserID?>
        let at: Column<Timestamp?>
        let actorId: Column<UserID?>
    }

    static let statement = PreparedStatement<MembersStatement.PageInput, Columns>(
        "bans", PackageResources.bans_sql, .store)
    static let columns = statement.columns
}

extension Queries {
    /// `{bans: [{userId, at, actorId}], nextCursor?}`
    func bans(_ query: MembersQuery) async throws -> [UInt8] {
        let rows = try await connection.query(BansStatement.statement) { parameters, input in
            MembersStatement.set(query, of: input, in: &parameters)
        }
        let columns = BansStatement.columns
        guard let first = rows.first else { throw Problem.unknownConversation }
        guard let role = first[columns.role], role != .member else {
            throw Problem(.forbidden, WriteStatement.onlyAdmin)
        }
        let limit = Int(query.limit)
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append(key: "bans")
        buffer.beginArray()
        for row in rows.prefix(limit) where !row.isNull(columns.userId) {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "userId", json: row[columns.userId])
            buffer.append(key: "at", json: row[columns.at])
            buffer.append(key: "actorId", json: row[columns.actorId])
            buffer.endObject()
        }
        buffer.endArray()
        if rows.count > limit { buffer.append(key: "nextCursor", json: rows[limit - 1][columns.userId]) }
        buffer.endObject()
        return buffer.array
    }
}
