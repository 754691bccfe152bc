import Bytes
import JSON
import Models
import Postgres
import Wire

extension Queries {
    /// `{results: [{message, snippet}], nextCursor?}`
    func search(_ query: SearchQuery) async throws -> [UInt8] {
        let terms = SearchTerms(query.text)
        let page = terms.isEmpty ? Search.Page() : try await searching.find(terms, query)
        defer { extendLifetime(page) }  // The texts lie in its rows.
        let receipts = try await receipts(of: page.results.map(\.message), for: query.reader)
        var buffer = ByteBuffer(capacity: 4096)
        buffer.beginObject()
        buffer.append(key: "results")
        buffer.beginArray()
        var written = 0
        var piece = TextTurns.Piece()
        for result in page.results where buffer.count < ContractLimits.pageBytes {
            await searching.texts.take(result.message.searched?.byteCount ?? 0, into: &piece)
            buffer.beginElement()
            buffer.append(result, receipts[MessageKey(result.message)])
            written += 1
        }
        buffer.endArray()
        if let cursor = cursor(of: page, written: written) { buffer.append(key: "nextCursor", json: cursor.text) }
        buffer.endObject()
        return buffer.array
    }

    /// The cursor after the last result if the page was cut by its size, otherwise after the last examined message.
    private func cursor(of page: Search.Page, written: Int) -> SearchCursor? {
        let isCut = written < page.results.count
        guard isCut || page.hasMore,
            let last = isCut ? page.results[written - 1].message : page.last
        else { return nil }
        return SearchCursor(
            at: last.createdAt, conversation: last.conversation, seq: last.seq, isForParts: page.mode == .parts)
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ result: Search.Result, _ receipts: Receipts?) {
        beginObject()
        append(key: "message")
        append(result.message, parent: result.parent, receipts: receipts)
        append(key: "snippet", json: result.snippet)
        endObject()
    }
}

extension Search.Result {
    fileprivate var snippet: String {
        message.searched.map { searched in
            searched.withBytes { Snippet.make(String(decoding: $0, as: UTF8.self), matches: matches) }
        } ?? ""
    }
}
