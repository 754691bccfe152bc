import Models
import Postgres
import Reactor
import Slots
import Wire

/// The statements that add message texts to the index and remove them.
///
/// `store.search_positions` has how far each conversation is indexed: what was sent or edited at higher positions is not
/// in the index yet. The same row is a lock: the indexer writes while it holds it, and whoever changes or erases a text
/// takes it first (`SQL/lock_searches.sql`) and removes the text afterwards (`unindexed.sql`), so that an erased text
/// cannot come back by an indexer that read it before. Sending does not touch any of this.
enum SearchIndex {
    static let notes = NoteStatements(Schema.name, "unindexed", existence: (table: "store.conversations", id: "id"))

    /// The approximate size in bytes of the texts of one batch. Each of its conversations adds at least one text.
    static let batchBytes = 1024 * 1024
    private static let leastBytes = 16 * 1024

    static let statements =
        [
            LockStatement.searches.untyped, backlog.untyped, unindexed.untyped, remove.untyped, add.untyped,
            unfiltered.untyped, filter.untyped,
        ]
        + notes.all

    // MARK: Reading

    struct BacklogInput: NamedFields {
        let slots: Parameter<[Slot]>
        let after: Parameter<ConversationID>
        let limit: Parameter<Int64>
    }

    struct BacklogColumns: NamedFields { let id: Column<ConversationID> }

    static let backlog = PreparedStatement<BacklogInput, BacklogColumns>(
        "search_backlog", PackageResources.search_backlog_sql, .store)

    struct UnindexedInput: NamedFields {
        let conversations: ConversationsInput
        let positions: Parameter<Int64>
        let bytes: Parameter<Int64>
    }

    struct UnindexedColumns: NamedFields {
        let conversationId: Column<ConversationID>
        let since: Column<Int64>
        let through: Column<Int64>
        let lastSeq: Column<Int64>
        let seq: Column<Int64?>
        let body: Column<UnsafeRawBufferPointer?>
        let attachments: Column<UnsafeRawBufferPointer?>
    }

    static let unindexed = PreparedStatement<UnindexedInput, UnindexedColumns>(
        "search_unindexed", PackageResources.search_unindexed_sql, .store)

    /// The texts of one conversation in one round.
    struct Portion {
        let conversation: ConversationID
        /// The position up to which the conversation is indexed, and is once the texts are.
        let since: Int64
        let through: Int64
        let lastSeq: Int64
        var texts: [Text] = []
        /// The indexed messages that were edited or deleted.
        var changed: [Int64] = []

        struct Text {
            let seq: Int64
            let searched: SearchedText
        }

        fileprivate mutating func add(_ row: Row) {
            let columns = SearchIndex.unindexed.columns
            guard let seq = row[columns.seq] else { return }
            if seq <= since { changed.append(seq) }
            if let body = row[columns.body] {
                texts.append(Text(seq: seq, searched: SearchedText(body, row[columns.attachments])))
            }
        }
    }

    static func set(
        _ conversations: [ConversationID], positionsOfEach positions: Int, of input: UnindexedInput,
        in parameters: inout Parameters
    ) {
        parameters.set(input.conversations, to: conversations)
        parameters.set(input.positions, to: Int64(positions))
        parameters.set(input.bytes, to: Int64(max(leastBytes, batchBytes / conversations.count)))
    }

    /// Decodes the rows. The texts live as long as the rows.
    static func portions(_ rows: Rows) -> [Portion] {
        let columns = unindexed.columns
        var portions: [ConversationID: Portion] = [:]
        for row in rows {
            let conversation = row[columns.conversationId]
            portions[
                conversation,
                default: Portion(
                    conversation: conversation, since: row[columns.since], through: row[columns.through],
                    lastSeq: row[columns.lastSeq])
            ].add(row)
        }
        return Array(portions.values)
    }

    // MARK: Writing

    private struct RemoveInput: NamedFields {
        let key: ConversationInput
        let since: Parameter<Int64>
        let seqs: Parameter<[Int64]>
    }

    private struct AddInput: NamedFields {
        let conversations: ConversationsInput
        let since: Parameter<[Int64]>
        let through: Parameter<[Int64]>
        let chunkSlots: Parameter<[Slot]>
        let chunkConversations: Parameter<[ConversationID]>
        let blocks: Parameter<[Int64]>
        let places: Parameter<[Int16]>
        let filters: Parameter<[String]>
        let chunks: Parameter<[Int32]>
        let seqs: Parameter<[Int64]>
        let bodies: Parameter<[UnsafeRawBufferPointer]>
        let texts: Parameter<[String]>
    }

    struct AddColumns: NamedFields { let conversationId: Column<ConversationID> }

    private static let remove = PreparedStatement<RemoveInput, NoFields>(
        "search_remove", PackageResources.search_remove_sql, .store)
    private static let add = PreparedStatement<AddInput, AddColumns>(
        "search_add", PackageResources.search_add_sql, .store)

    /// Adds the texts of `portions` to the index and records the progress. The last statement returns the conversations
    /// that nobody else has indexed meanwhile.
    static func add(_ portions: [Portion], _ chunks: [SearchChunk], to batch: inout Batch) {
        batch.execute(LockStatement.searches) { $0.set($1, to: portions.lazy.map(\.conversation)) }
        for portion in portions where !portion.changed.isEmpty {
            batch.execute(remove) { parameters, input in
                parameters.set(input.key, to: portion.conversation)
                parameters.set(input.since, to: portion.since)
                parameters.set(input.seqs, to: portion.changed)
            }
        }
        batch.execute(add) { parameters, input in
            parameters.set(input.conversations, to: portions.lazy.map(\.conversation))
            parameters.set(input.since, to: portions.lazy.map(\.since))
            parameters.set(input.through, to: portions.lazy.map(\.through))
            set(chunks, of: input, in: &parameters)
        }
    }

    private static func set(_ chunks: [SearchChunk], of input: AddInput, in parameters: inout Parameters) {
        parameters.set(input.chunkSlots, to: chunks.lazy.map(\.conversation.slot))
        parameters.set(input.chunkConversations, to: chunks.lazy.map(\.conversation))
        parameters.set(input.blocks, to: chunks.lazy.map(\.block))
        parameters.set(input.places, to: chunks.lazy.map(\.place))
        parameters.set(input.filters, to: chunks.lazy.map(\.filter.hexadecimal))
        let texts = chunks.lazy.flatMap(\.texts)
        let numbers = chunks.enumerated().lazy.flatMap { number, chunk in
            repeatElement(Int32(number + 1), count: chunk.texts.count)
        }
        parameters.set(input.chunks, to: numbers)
        parameters.set(input.seqs, to: texts.map(\.seq))
        parameters.set(input.bodies, to: texts.map(\.body))
        parameters.set(input.texts, to: texts.map(\.text))
    }

    static func added(_ rows: Rows) -> Set<ConversationID> { Set(rows.map { $0[add.columns.conversationId] }) }

    // MARK: Filters

    struct UnfilteredInput: NamedFields {
        let slots: Parameter<[Slot]>
        let limit: Parameter<Int64>
    }

    struct UnfilteredColumns: NamedFields {
        let slot: Column<Slot>
        let conversationId: Column<ConversationID>
        let block: Column<Int64>
        let part: Column<Int16>
        let texts: Column<UnsafeRawBufferPointer>
    }

    private struct FilterInput: NamedFields {
        let conversations: ConversationsInput
        let blocks: Parameter<[Int64]>
        let parts: Parameter<[Int16]>
        let texts: Parameter<[UnsafeRawBufferPointer]>
        let filters: Parameter<[String]>
    }

    static let unfiltered = PreparedStatement<UnfilteredInput, UnfilteredColumns>(
        "search_unfiltered", PackageResources.search_unfiltered_sql, .store)
    private static let filter = PreparedStatement<FilterInput, NoFields>(
        "search_filter", PackageResources.search_filter_sql, .store)

    /// Gives the blocks of `unfiltered` their filters.
    static func addFilters(_ filters: [TextFilter], to blocks: Rows, in batch: inout Batch) {
        let columns = unfiltered.columns
        let conversations = blocks.map { $0[columns.conversationId] }
        batch.execute(LockStatement.searches) { $0.set($1, to: conversations) }
        batch.execute(filter) { parameters, input in
            parameters.set(input.conversations, to: conversations)
            parameters.set(input.blocks, to: blocks.lazy.map { $0[columns.block] })
            parameters.set(input.parts, to: blocks.lazy.map { $0[columns.part] })
            parameters.set(input.texts, to: blocks.lazy.map { $0[columns.texts] })
            parameters.set(input.filters, to: filters.lazy.map(\.hexadecimal))
        }
    }
}
