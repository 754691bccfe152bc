import Bytes
import JSON
import Models
import Postgres
import Wire

extension Queries {
    /// `{delivered: [{userId, at}], read: [{userId, at}], deliveredCount, readCount, recipientCount, nextCursor?}`
    func receipts(_ query: AfterUserQuery) async throws -> [UInt8] {
        let rows = try await receiptRows(query)
        guard let first = rows.first else { throw Problem(.notFound, "there is no such message") }
        guard first[0] else { throw Problem(.forbidden, "only the sender of a message may ask for its receipts") }
        let limit = Int(query.limit)
        let page = rows.prefix(limit)
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append("delivered", page, timeColumn: 5)
        buffer.append("read", page, timeColumn: 6)
        buffer.append(key: "deliveredCount", json: first[2] as Int64)
        buffer.append(key: "readCount", json: first[3] as Int64)
        buffer.append(key: "recipientCount", json: first[1] as Int64)
        if rows.count > limit { buffer.append(key: "nextCursor", json: rows[limit - 1][4] as String) }
        buffer.endObject()
        return buffer.array
    }

    /// Only a former member, and a user who did not send the message, cost a second statement.
    private func receiptRows(_ query: AfterUserQuery) async throws -> Rows {
        let rows = try await connection.query(ReceiptsStatement.statement) { ReceiptsStatement.add(query, to: &$0) }
        guard let first = rows.first, !(first[0] as Bool) else { return rows }
        return try await connection.query(FormerReceipts.single, .heavy) { ReceiptsStatement.add(query, to: &$0) }
    }
}

extension ByteBuffer {
    /// Appends `[{userId, at}]` of the rows that have a time.
    fileprivate mutating func append(_ key: StaticString, _ page: Slice<Rows>, timeColumn: Int) {
        append(key: key)
        beginArray()
        for row in page {
            guard let at: Timestamp = row[timeColumn] else { continue }
            beginElement()
            beginObject()
            append(key: "userId", json: row[4] as UserID)
            append(key: "at", json: at)
            endObject()
        }
        endArray()
    }
}
