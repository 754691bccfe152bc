import Bytes
import JSON
import Models
import Postgres
import Wire

extension Queries {
    /// Digests at once. Beyond it one is refused as overload.
    static let digestsLimit = 16

    /// `{lastSeq, useq, pages: [{fromSeq, toSeq, changes, state}], more}`
    ///
    /// Reads thousands of rows, so it goes beside the searches, where no message and no page of history waits for it.
    func digest(_ query: DigestQuery) async throws -> [UInt8] {
        guard digestsInWork < Self.digestsLimit else { throw Problem(.overloaded, "too many digests are in work") }
        digestsInWork += 1
        defer { digestsInWork -= 1 }
        do {
            let rows = try await searching.connection.query(DigestStatement.statement) {
                DigestStatement.add(query, to: &$0)
            }
            guard let first = rows.first else { throw Problem.unknownConversation }
            return json(rows, lastSeq: first[0], useq: first[1])
        } catch let error as DatabaseError where error.sqlState == .queryCanceled {
            throw Problem(.unavailable, "limit: so many pages take too long: ask for fewer")
        }
    }

    private func json(_ rows: Rows, lastSeq: Int64, useq: Int64) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 256 + rows.count * 192)
        buffer.beginObject()
        buffer.append(key: "lastSeq", json: lastSeq)
        buffer.append(key: "useq", json: useq)
        buffer.append(key: "pages")
        buffer.beginArray()
        var end = lastSeq
        for row in rows where !row.isNull(2) {
            end = row[3]
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "fromSeq", json: row[2] as Int64)
            buffer.append(key: "toSeq", json: end)
            buffer.append(key: "changes", json: row[4] as String)
            buffer.append(key: "state", json: row[5] as String)
            buffer.endObject()
        }
        buffer.endArray()
        buffer.append(key: "more", json: end < lastSeq)
        buffer.endObject()
        return buffer.array
    }
}
