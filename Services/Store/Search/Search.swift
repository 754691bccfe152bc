import Models
import Postgres
import Reactor
import Wire

/// Finds messages on its own connection and examines texts in pieces. A slow search delays other searches of the same
/// user, and hardly anything else.
@Reactor
final class Search {
    /// The maximum number of concurrent searches. Further ones are refused as overload.
    static let limit = 64

    let connection: QueryConnections
    let texts = TextTurns()
    private var room = SharedRoom(limit: Search.limit)

    init(_ connection: QueryConnections) { self.connection = connection }

    nonisolated static let statements = SearchStatements.statements

    /// A matching message as the reader sees it. Texts live as long as the rows.
    struct Result {
        let message: MessageFields
        let parent: ParentView
        /// Byte ranges of its `SearchedText`.
        let matches: [Range<Int>]
    }

    struct Page {
        /// Newest first.
        var results: [Result] = []
        /// The last message that was examined.
        var last: MessageFields?
        var hasMore = false
        var mode = SearchTerms.Mode.words
        fileprivate(set) var rows: Rows?
    }

    /// Returns the next page. Parts of words are searched only if no whole words match.
    func find(_ terms: SearchTerms, _ query: SearchQuery) async throws -> Page {
        guard room.enter(.current) else { throw Problem(.overloaded, "too many searches are in flight") }
        defer { room.leave(.current) }
        do {
            if query.before?.isForParts != true {
                let page = try await page(terms, .words, query)
                let isNothing = page.results.isEmpty && !page.hasMore && query.before == nil
                if !isNothing || !terms.hasParts { return page }
            }
            return try await page(terms, .parts, query)
        } catch let error as DatabaseError where error.sqlState == .queryCanceled {
            throw Problem(.unavailable, "q: the search takes too long: give more or longer words")
        }
    }

    private func page(_ terms: SearchTerms, _ mode: SearchTerms.Mode, _ query: SearchQuery) async throws -> Page {
        let rows = try await SearchStatements.find(terms, mode, query, on: connection)
        guard let first = rows.first, query.conversation == nil || SearchStatements.isKnown(first) else {
            throw Problem.unknownConversation
        }
        var page = Page(mode: mode, rows: rows)
        await fill(&page, limit: Int(query.limit), terms)
        return page
    }

    /// Fills the page. It ends before the index's last result if there is one more than the limit, because unindexed
    /// matches may precede that result.
    private func fill(_ page: inout Page, limit: Int, _ terms: SearchTerms) async {
        var fromIndex = 0
        var piece = TextTurns.Piece()
        for row in page.rows! {
            guard let message = SearchStatements.message(row) else { continue }
            if SearchStatements.isIndexed(row) { fromIndex += 1 }
            let searched = message.searched
            await texts.take(searched?.byteCount ?? 0, into: &piece)
            let matches = searched.flatMap { $0.withBytes { terms.matches(in: FoldedText($0), page.mode) } }
            page.hasMore = fromIndex > limit || matches != nil && page.results.count == limit
            if page.hasMore { break }
            page.last = message
            guard let matches else { continue }
            page.results.append(Result(message: message, parent: SearchStatements.parent(row), matches: matches))
        }
    }
}

extension SQLState {
    /// Raised by `statement_timeout` or an operator.
    static let queryCanceled = SQLState(rawValue: "57014")
}
