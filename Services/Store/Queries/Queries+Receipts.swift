import Bytes
import JSON
import Models
import Postgres
import Wire

extension Queries {
    /// `{delivered: [{userId, at}], read: [{userId, at}], deliveredCount, readCount, recipientCount, nextCursor?}`
    func receipts(_ query: AfterUserQuery) async throws -> [UInt8] {
        let (rows, columns) = try await receiptPage(query)
        guard let first = rows.first else { throw Problem(.notFound, "there is no such message") }
        guard first[columns.isOwn] else {
            throw Problem(.forbidden, "only the sender of a message may ask for its receipts")
        }
        let limit = Int(query.limit)
        let page = rows.prefix(limit)
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append("delivered", page, columns, at: columns.deliveredAt)
        buffer.append("read", page, columns, at: columns.readAt)
        buffer.append(key: "deliveredCount", json: first[columns.deliveredCount])
        buffer.append(key: "readCount", json: first[columns.readCount])
        buffer.append(key: "recipientCount", json: first[columns.recipientCount])
        if rows.count > limit { buffer.append(key: "nextCursor", json: rows[limit - 1][columns.userId]) }
        buffer.endObject()
        return buffer.array
    }

    /// Only a former member, and a user who did not send the message, cost a second statement.
    private func receiptPage(_ query: AfterUserQuery) async throws -> ReceiptsStatement.Page {
        let statement = ReceiptsStatement.statement, former = FormerReceipts.single
        let rows = try await connection.query(statement) { $0.set($1, to: query) }
        guard let first = rows.first, !first[statement.columns.isOwn] else { return (rows, statement.columns) }
        return (try await connection.query(former, .heavy) { $0.set($1, to: query) }, former.columns)
    }
}

extension ByteBuffer {
    /// Appends `[{userId, at}]` of the rows that have a time.
    fileprivate mutating func append(
        _ key: StaticString, _ page: Slice<Rows>, _ columns: ReceiptsStatement.Columns, at time: Column<Timestamp?>
    ) {
        append(key: key)
        beginArray()
        for row in page {
            guard let at = row[time] else { continue }
            beginElement()
            beginObject()
            append(key: "userId", json: row[columns.userId])
            append(key: "at", json: at)
            endObject()
        }
        endArray()
    }
}
