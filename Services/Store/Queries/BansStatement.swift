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
        return try page("bans", of: rows, columns.userId, forAdmins: columns.role, limit: query.limit) { buffer, row in
            buffer.append(key: "at", json: row[columns.at])
            buffer.append(key: "actorId", json: row[columns.actorId])
        }
    }

    /// A page about users who are no members, for owners and admins: `{name: [{userId, …}], nextCursor?}`.
    ///
    /// - Parameters:
    ///   - rows: one more than `limit` if there are more. None: the reader never was there. Without a user: there is nobody.
    ///   - user: the column of the user.
    ///   - role: the column of the reader's role; NULL: no member.
    ///   - append: writes what else is said of a user.
    func page(
        _ name: StaticString, of rows: Rows, _ user: Column<UserID?>, forAdmins role: Column<MemberRole?>,
        limit: UInt16,
        _ append: (inout ByteBuffer, Row) -> Void
    ) throws(Problem) -> [UInt8] {
        guard let first = rows.first else { throw Problem.unknownConversation }
        guard let role = first[role], role != .member else { throw Problem(.forbidden, WriteStatement.onlyAdmin) }
        let limit = Int(limit)
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append(key: name)
        buffer.beginArray()
        for row in rows.prefix(limit) where !row.isNull(user) {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "userId", json: row[user])
            append(&buffer, row)
            buffer.endObject()
        }
        buffer.endArray()
        if rows.count > limit { buffer.append(key: "nextCursor", json: rows[limit - 1][user]) }
        buffer.endObject()
        return buffer.array
    }
}
