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
        let rows = try await found(page.places, by: query.reader)
        defer { extendLifetime(rows) }  // The texts lie in them.
        let messages = rows.compactMap { row in
            MessageFields(row, conversation: SearchStatements.conversation(row)).map { ($0, ParentView(row)) }
        }
        let receipts = try await receipts(of: messages.map(\.0), for: query.reader)
        var buffer = ByteBuffer(capacity: 4096)
        buffer.beginObject()
        buffer.append(key: "results")
        buffer.beginArray()
        var last: MessageFields?
        for (message, parent) in messages where buffer.count < Self.pageByteLimit {
            last = message
            // Edited since it was found, it may be no result any more.
            guard let snippet = snippet(of: message, terms, page.mode) else { continue }
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "message")
            buffer.append(message, parent: parent, receipts: receipts[MessageKey(message)])
            buffer.append(key: "snippet", json: snippet)
            buffer.endObject()
        }
        buffer.endArray()
        if let cursor = cursor(behind: last, of: page) { buffer.append(key: "nextCursor", json: cursor.text) }
        buffer.endObject()
        return buffer.array
    }

    private func found(_ places: [Search.Place], by reader: UserID) async throws -> Rows {
        try await connection.query(SearchStatements.messages) { parameters in
            parameters.add(reader)
            LockStatement.add(places.lazy.map(\.conversation), to: &parameters)
            parameters.addArray(of: .int8)
            for place in places { parameters.append(place.seq) }
        }
    }

    private func snippet(of message: MessageFields, _ terms: SearchTerms, _ mode: SearchTerms.Mode) -> String? {
        guard let text = message.text, let matches = terms.matches(in: FoldedText(text), mode) else { return nil }
        return Snippet.make(String(decoding: text, as: UTF8.self), matches: matches)
    }

    /// Behind the last message that was looked at, where the page was cut by its size; else behind the last place.
    private func cursor(behind message: MessageFields?, of page: Search.Page) -> SearchCursor? {
        guard let end = page.places.last else { return nil }
        let last = message.map { Search.Place(at: $0.createdAt, conversation: $0.conversation, seq: $0.seq) } ?? end
        guard page.hasMore || last != end else { return nil }
        return SearchCursor(
            at: last.at, conversation: last.conversation, seq: last.seq, isForParts: page.mode == .parts)
    }
}
