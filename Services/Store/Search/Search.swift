import Models
import Postgres
import Reactor
import Wire

/// Finds messages, on a connection of its own, and looks through texts in pieces: a slow search delays other searches of the
/// same user, and hardly anything else.
@Reactor
final class Search {
    /// Searches at once. Beyond it a search is refused as overload.
    static let limit = 64

    let connection: QueryConnections
    let texts = TextTurns()
    private var room = SharedRoom(limit: Search.limit)

    init(_ connection: QueryConnections) { self.connection = connection }

    nonisolated static let statements = SearchStatements.statements

    /// A found message as the reader sees it. Texts live as long as the rows.
    struct Result {
        let message: MessageFields
        let parent: ParentView
        /// Ranges of the bytes of its text.
        let matches: [Range<Int>]
    }

    struct Page {
        /// Newest first.
        var results: [Result] = []
        /// The last message that was looked at.
        var last: MessageFields?
        var hasMore = false
        var mode = SearchTerms.Mode.words
        fileprivate(set) var rows: Rows?
    }

    /// The next page. What is found as words is all that is found; only where that is nothing, parts of words are looked
    /// for.
    func find(_ terms: SearchTerms, _ query: SearchQuery) async throws -> Page {
        guard room.enter(.current) else { throw Problem(.overloaded, "too many searches are in work") }
        defer { room.leave(.current) }
        do {
            if query.before?.isForParts != true {
                let page = try await page(terms, .words, query)
                let isNothing = page.results.isEmpty && !page.hasMore && query.before == nil
                if !isNothing || terms.partPatterns.isEmpty { return page }
            }
            return try await page(terms, .parts, query)
        } catch let error as DatabaseError where error.sqlState == .queryCanceled {
            throw Problem(.unavailable, "q: the search takes too long: give more or longer words")
        }
    }

    private func page(_ terms: SearchTerms, _ mode: SearchTerms.Mode, _ query: SearchQuery) async throws -> Page {
        let statement = SearchStatements.statement(mode, ofOne: query.conversation != nil)
        let rows = try await connection.query(statement) { SearchStatements.add(query, terms, mode, to: &$0) }
        guard let first = rows.first, query.conversation == nil || SearchStatements.isKnown(first) else {
            throw Problem.unknownConversation
        }
        var page = Page(mode: mode, rows: rows)
        await fill(&page, limit: Int(query.limit), terms)
        return page
    }

    /// Ends before the last one that the index has found, when that is one more than the limit: there may be others between
    /// it and what is not indexed.
    private func fill(_ page: inout Page, limit: Int, _ terms: SearchTerms) async {
        var fromIndex = 0
        var piece = TextTurns.Piece()
        for row in page.rows! {
            guard let message = SearchStatements.message(row) else { continue }
            if SearchStatements.isIndexed(row) { fromIndex += 1 }
            await texts.take(message.text?.count ?? 0, into: &piece)
            let matches = message.text.flatMap { terms.matches(in: FoldedText($0), page.mode) }
            page.hasMore = fromIndex > limit || matches != nil && page.results.count == limit
            if page.hasMore { break }
            page.last = message
            guard let matches else { continue }
            page.results.append(Result(message: message, parent: ParentView(row), matches: matches))
        }
    }
}

extension SQLState {
    /// `statement_timeout`, or an operator.
    static let queryCanceled = SQLState(rawValue: "57014")
}
