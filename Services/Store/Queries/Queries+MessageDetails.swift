import Bytes
import JSON
import Models
import Postgres
import Wire

extension Queries {
    /// `{revisions: [{text, at}]}`, or `sealed` for `text`, oldest first, the present one last.
    func revisions(_ query: MessageQuery) async throws -> [UInt8] {
        let rows = try await connection.query(RevisionsStatement.statement) { $0.set($1, to: query) }
        guard !rows.isEmpty else { throw Problem(.notFound, "there is no such message") }
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append(key: "revisions")
        buffer.beginArray()
        let columns = RevisionsStatement.statement.columns
        for row in rows {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: row[columns.isSealed] ? "sealed" : "text", utf8: row[columns.body])
            buffer.append(key: "at", json: row[columns.at])
            buffer.endObject()
        }
        buffer.endArray()
        buffer.endObject()
        return buffer.array
    }

    /// `{votes: [{userId, options, at}], nextCursor?}`
    func votes(_ query: VotesQuery) async throws -> [UInt8] {
        let limit = Int(query.page.limit)
        let rows = try await connection.query(VotesStatement.statement) { parameters, input in
            parameters.set(input.page, to: query.page)
            parameters.set(input.chosen, to: query.option.map { 1 << Int16($0) } ?? .max)
        }
        let columns = VotesStatement.statement.columns
        guard !rows.isEmpty else { throw Problem(.notFound, "there is no such message") }
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append(key: "votes")
        buffer.beginArray()
        for row in rows.prefix(limit) where !row.isNull(columns.userId) {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "userId", json: row[columns.userId])
            buffer.append(key: "options")
            buffer.beginArray()
            for position in PollOptions(bits: UInt16(row[columns.options])).positions {
                buffer.beginElement()
                buffer.appendJSON(position)
            }
            buffer.endArray()
            buffer.append(key: "at", json: row[columns.at])
            buffer.endObject()
        }
        buffer.endArray()
        if rows.count > limit { buffer.append(key: "nextCursor", json: rows[limit - 1][columns.userId]) }
        buffer.endObject()
        return buffer.array
    }

    /// `{tapbacks: [{userId, kind, at}], counts: {kind: n}, nextCursor?}`
    func tapbacks(_ query: AfterUserQuery) async throws -> [UInt8] {
        let limit = Int(query.limit)
        let rows = try await connection.query(TapbacksStatement.statement) { $0.set($1, to: query) }
        let columns = TapbacksStatement.statement.columns
        guard let first = rows.first else { throw Problem(.notFound, "there is no such message") }
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append(key: "tapbacks")
        buffer.beginArray()
        for row in rows.prefix(limit) where !row.isNull(columns.userId) {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "userId", json: row[columns.userId])
            buffer.append(key: "kind", utf8: row[columns.kind])
            buffer.append(key: "at", json: row[columns.at])
            buffer.endObject()
        }
        buffer.endArray()
        buffer.append(key: "counts", encoded: first[columns.counts])
        if rows.count > limit { buffer.append(key: "nextCursor", json: rows[limit - 1][columns.userId]) }
        buffer.endObject()
        return buffer.array
    }
}
