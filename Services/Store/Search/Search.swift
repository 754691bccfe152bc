import Models
import Postgres
import Reactor
import Wire

/// Finds messages, on a connection of its own: a slow search delays other searches, and nothing else.
@Reactor
final class Search {
    /// Searches at once. Beyond it a search is refused as overload.
    static let limit = 64
    /// Texts that are not in the index yet and are looked through by one search, the newest ones.
    private static let unindexedLimit: Int64 = 4_096
    /// Conversations of the first step, those with the latest activity; every further one takes twice as many.
    private static let firstStep = 32

    let connection: Connection
    private var inWork = 0

    init(_ connection: Connection) { self.connection = connection }

    nonisolated static let statements = SearchStatements.statements

    /// A found message, by its place.
    struct Place: Hashable {
        let at: Timestamp
        let conversation: ConversationID
        let seq: Int64

        static func isNewer(_ left: Place, _ right: Place) -> Bool {
            if left.at != right.at { return left.at > right.at }
            if left.conversation != right.conversation { return left.conversation.uuid > right.conversation.uuid }
            return left.seq > right.seq
        }
    }

    struct Page {
        var places: [Place] = []
        var hasMore = false
        var mode = SearchTerms.Mode.words
    }

    /// The next page, newest first. What is found as words is all that is found; only where that is nothing, parts of
    /// words are looked for.
    func find(_ terms: SearchTerms, _ query: SearchQuery) async throws -> Page {
        guard inWork < Self.limit else { throw Problem(.overloaded, "too many searches are in work") }
        inWork += 1
        defer { inWork -= 1 }
        do {
            let stays = try await stays(query)
            if query.before?.isForParts != true {
                let page = try await find(terms, .words, query, stays)
                if !page.places.isEmpty || query.before != nil { return page }
            }
            return terms.partPatterns.isEmpty ? Page() : try await find(terms, .parts, query, stays)
        } catch let error as DatabaseError where error.sqlState == .queryCanceled {
            throw Problem(.unavailable, "q: the search takes too long: give more or longer words")
        }
    }

    // MARK: Where

    /// A stretch of a conversation that the reader sees.
    private struct Stay {
        let conversation: ConversationID
        let first: Int64
        let last: Int64
        let indexed: Int64
        let lastActivity: Timestamp
        /// The last position that the reader may see of the conversation; for a present member none.
        let position: Int64

        /// Whether the index has all of it, as the reader sees it.
        var isIndexed: Bool { indexed >= last && position == .max }
    }

    private func stays(_ query: SearchQuery) async throws -> [Stay] {
        let rows = try await connection.query(
            query.conversation == nil ? SearchStatements.allStays : SearchStatements.staysOfOne
        ) { parameters in
            parameters.add(query.reader)
            parameters.add(query.reader.slot)
            guard let conversation = query.conversation else { return }
            parameters.add(conversation.slot)
            parameters.add(conversation)
        }
        guard query.conversation == nil || !rows.isEmpty else { throw Problem.unknownConversation }
        return rows.map { row in
            Stay(
                conversation: row[0], first: row[1], last: row[2], indexed: row[3], lastActivity: row[4],
                position: row[5])
        }.filter { $0.first <= $0.last }
    }

    // MARK: What

    /// In steps: when the results so far are newer than the latest activity of all further conversations, these have
    /// nothing to add.
    private func find(
        _ terms: SearchTerms, _ mode: SearchTerms.Mode, _ query: SearchQuery, _ stays: [Stay]
    ) async throws -> Page {
        let limit = Int(query.limit)
        var found: [Place] = []
        var rest = stays[...]
        var step = Self.firstStep
        while let next = rest.first, found.count <= limit || found[limit].at <= next.lastActivity {
            let places = try await places(terms, mode, query, Array(rest.prefix(step)))
            found = Array(Set(found + places).sorted(by: Place.isNewer).prefix(limit + 1))
            rest = rest.dropFirst(step)
            step *= 2
        }
        return Page(places: Array(found.prefix(limit)), hasMore: found.count > limit, mode: mode)
    }

    private func places(
        _ terms: SearchTerms, _ mode: SearchTerms.Mode, _ query: SearchQuery, _ stays: [Stay]
    ) async throws -> [Place] {
        let unindexed = stays.filter { !$0.isIndexed }
        // What is not indexed is read first: it may be indexed between the two, and then it is found twice.
        let results = try await connection.transaction { batch in
            if !unindexed.isEmpty {
                batch.execute(SearchStatements.unindexed) { parameters in
                    Self.add(query, unindexed, limit: Self.unindexedLimit, to: &parameters)
                    parameters.addArray(of: .int8)
                    for stay in unindexed { parameters.append(stay.indexed) }
                }
            }
            batch.execute(mode == .words ? SearchStatements.words : SearchStatements.parts) { parameters in
                // One more tells whether there are more.
                Self.add(query, stays, limit: Int64(query.limit) + 1, to: &parameters)
                Self.add(terms, mode, to: &parameters)
            }
        }
        let fromIndex = results.last?.map(Self.place) ?? []
        return unindexed.isEmpty ? fromIndex : fromIndex + matching(terms, mode, results[0])
    }

    private func matching(_ terms: SearchTerms, _ mode: SearchTerms.Mode, _ rows: Rows) -> [Place] {
        rows.filter { terms.matches(in: FoldedText($0[3] as UnsafeRawBufferPointer), mode) != nil }.map(Self.place)
    }

    private static func place(_ row: Row) -> Place { Place(at: row[0], conversation: row[1], seq: row[2]) }

    private static func add(_ query: SearchQuery, _ stays: [Stay], limit: Int64, to parameters: inout Parameters) {
        let before = query.before
        parameters.add(query.reader)
        LockStatement.add(stays.lazy.map(\.conversation), to: &parameters)
        parameters.addArray(of: .int8)
        for stay in stays { parameters.append(stay.first) }
        parameters.addArray(of: .int8)
        for stay in stays { parameters.append(stay.last) }
        parameters.add(before?.at ?? ActivityCursor.start.lastActivityAt)
        parameters.add(before?.conversation ?? ActivityCursor.start.conversation)
        parameters.add(before?.seq ?? .max)
        parameters.add(limit)
        parameters.addArray(of: .int8)
        for stay in stays { parameters.append(stay.position) }
    }

    private static func add(_ terms: SearchTerms, _ mode: SearchTerms.Mode, to parameters: inout Parameters) {
        let patterns = mode == .words ? terms.runPatterns : Array(terms.partPatterns.dropFirst())
        parameters.add(mode == .words ? terms.tsquery : terms.partPatterns.first ?? "")
        parameters.addArray(of: .text)
        for pattern in patterns { parameters.append(pattern) }
    }
}

extension SQLState {
    /// `statement_timeout`, or an operator.
    static let queryCanceled = SQLState(rawValue: "57014")
}
