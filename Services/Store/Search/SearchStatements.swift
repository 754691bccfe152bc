import Models
import Postgres
import Reactor
import Slots
import Wire

/// The queries of a search: one statement finds out where the reader may look, searches there, and returns the messages
/// as the reader sees them (`find_messages.sql`).
enum SearchStatements {
    /// The number of conversations in the first step. Each further step takes twice as many.
    static let firstStep = 4
    /// The number of unindexed texts that one search examines, newest first.
    static let unindexedLimit = 4_096
    /// The total size of these texts, in bytes.
    static let unindexedBytes = 1024 * 1024

    struct Input: NamedFields {
        let reader: Parameter<UserID>
        let readerSlot: Parameter<Slot>
        let limit: Parameter<Int64>
        let beforeAt: Parameter<Timestamp>
        let beforeConversation: Parameter<ConversationID>
        let beforeSeq: Parameter<Int64>
        let needle: Parameter<String>
        let patterns: Parameter<[String]>
        let probes: Parameter<[Int32]>
        let asciiPatterns: Parameter<[String]>
    }

    private struct OneInput: NamedFields {
        let search: Input
        let key: ConversationInput
    }

    /// The columns of {find_messages}, of which all statements return these and no others.
    struct Columns: NamedFields {
        let message: MessageWithParentColumns
        let conversationId: Column<ConversationID?>
        let isIndexed: Column<Bool>
        let isKnown: Column<Bool>
    }

    static let columns = SQLNames.store.columns(Columns.self, of: "find_messages")

    static let statements = [all.untyped, one.untyped]

    private static let all = PreparedStatement<Input, Columns>("search", PackageResources.search_sql, .store)
    private static let one = PreparedStatement<OneInput, Columns>(
        "search_one", PackageResources.search_one_sql, .store)

    /// Returns one more row than the query's limit, to detect further results.
    @Reactor static func find(
        _ terms: SearchTerms, _ mode: SearchTerms.Mode, _ query: SearchQuery, on connection: QueryConnections
    ) async throws -> Rows {
        guard let conversation = query.conversation else {
            return try await connection.query(all) { parameters, input in
                set(query, terms, mode, of: input, in: &parameters)
            }
        }
        return try await connection.query(one) { parameters, input in
            set(query, terms, mode, of: input.search, in: &parameters)
            parameters.set(input.key, to: conversation)
        }
    }

    private static func set(
        _ query: SearchQuery, _ terms: SearchTerms, _ mode: SearchTerms.Mode, of input: Input,
        in parameters: inout Parameters
    ) {
        parameters.set(input.reader, to: query.reader)
        parameters.set(input.readerSlot, to: query.reader.slot)
        parameters.set(input.limit, to: Int64(query.limit) + 1)
        parameters.set(input.beforeAt, to: query.before?.at ?? ActivityCursor.start.lastActivityAt)
        parameters.set(
            input.beforeConversation, to: query.before?.conversation ?? ActivityCursor.start.conversation)
        parameters.set(input.beforeSeq, to: query.before?.seq ?? .max)
        let needles = terms.needles(mode)
        parameters.set(input.needle, to: needles.first ?? "")
        parameters.set(input.patterns, to: needles.dropFirst().map { "%\($0)%" })
        parameters.set(input.probes, to: terms.probes(mode))
        parameters.set(input.asciiPatterns, to: terms.patterns)
    }

    /// Returns nil for the only row of a search without results. Texts live as long as the rows.
    static func message(_ row: Row) -> MessageFields? {
        row[columns.conversationId].flatMap { MessageFields(row, columns.message.message, in: $0) }
    }

    static func parent(_ row: Row) -> ParentView { ParentView(row, columns.message) }

    /// Whether the message was found by the index. Otherwise its text has to be examined.
    static func isIndexed(_ row: Row) -> Bool { row[columns.isIndexed] }

    /// Whether the reader is or was in the conversation, or in any.
    static func isKnown(_ row: Row) -> Bool { row[columns.isKnown] }
}
