import Bytes
import JSON
import Models
import Postgres
import Reactor
import Wire

extension Queries {
    /// The number of digests at once. A further one is refused as overload.
    static let digestsLimit = 16
    /// The number of pages that one statement reads: thousands of rows, yet no search waits long for it.
    private static let digestStep = 4
    /// A response ends after this time, with the pages that it has.
    private static let digestTime = Duration.milliseconds(250)

    /// `{lastSeq, useq, pages: [{fromSeq, toSeq, changes, state}], more}`
    ///
    /// This reads many rows, so it uses the connection of searches, where no message and no page of history waits for
    /// it. All pages are exact at the same positions: if the reader's position moves meanwhile, the response ends
    /// before that page.
    func digest(_ query: AfterPositionQuery) async throws -> [UInt8] {
        guard digestsInFlight.enter(.current) else { throw Problem(.overloaded, "too many digests are in flight") }
        defer { digestsInFlight.leave(.current) }
        let end = MonotonicTime.now + Self.digestTime
        var digest = try await pages(of: query)
        while digest.hasMore, digest.pages.count < Int(query.limit), MonotonicTime.now < end {
            var rest = query
            rest.after = digest.after
            rest.limit -= UInt16(digest.pages.count)
            let next = try await pages(of: rest)
            guard (next.lastSeq, next.useq) == (digest.lastSeq, digest.useq) else { break }
            digest.pages += next.pages
        }
        return digest.json
    }

    private func pages(of query: AfterPositionQuery) async throws -> Digest {
        do {
            let rows = try await searching.connection.query(DigestStatement.statement) { parameters, input in
                DigestStatement.set(query, atMost: Self.digestStep, of: input, in: &parameters)
            }
            guard let digest = Digest(rows) else { throw Problem.unknownConversation }
            return digest
        } catch let error as DatabaseError where error.sqlState == .queryCanceled {
            throw Problem(.unavailable, "the digest takes too long at the moment")
        }
    }
}

/// What a reader sees of a conversation, as digests of its pages.
private struct Digest {
    struct Page {
        let first: Int64
        let last: Int64
        let changes: String
        let state: String
    }

    let lastSeq: Int64
    let useq: Int64
    var pages: [Page]

    init?(_ rows: Rows) {
        guard let first = rows.first else { return nil }
        let columns = DigestStatement.statement.columns
        lastSeq = first[columns.lastSeq]
        useq = first[columns.lastUseq]
        pages = rows.filter { !$0.isNull(columns.fromSeq) }.map { row in
            Page(
                first: row[columns.fromSeq], last: row[columns.toSeq], changes: row[columns.changes],
                state: row[columns.state])
        }
    }

    /// The position that the next pages begin after.
    var after: Int64 { pages.last?.last ?? lastSeq }
    var hasMore: Bool { after < lastSeq }

    var json: [UInt8] {
        var buffer = ByteBuffer(capacity: 256 + pages.count * 192)
        buffer.beginObject()
        buffer.append(key: "lastSeq", json: lastSeq)
        buffer.append(key: "useq", json: useq)
        buffer.append(key: "pages")
        buffer.beginArray()
        for page in pages {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "fromSeq", json: page.first)
            buffer.append(key: "toSeq", json: page.last)
            buffer.append(key: "changes", json: page.changes)
            buffer.append(key: "state", json: page.state)
            buffer.endObject()
        }
        buffer.endArray()
        buffer.append(key: "more", json: hasMore)
        buffer.endObject()
        return buffer.array
    }
}
