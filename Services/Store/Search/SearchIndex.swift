import Models
import Postgres
import Reactor
import Slots
import Wire

/// The statements that add message texts to the index and remove them.
///
/// `store.search_progress` has how far each conversation is indexed: what was sent or edited at higher positions is not
/// in the index yet. The same row is a lock: the indexer writes while it holds it, and whoever changes or erases a text
/// takes it first (`SQL/lock_searches.sql`) and deletes the text's row afterwards (`unindex_target.sql`), so that an
/// erased text cannot come back by an indexer that read it before. Sending does not touch any of this.
enum SearchIndex {
    static let notes = NoteStatements(Schema.name, "unindexed", existence: (table: "store.conversations", id: "id"))

    /// The approximate size in bytes of the texts of one batch. Each of its conversations adds at least one text.
    static let batchBytes = 1024 * 1024
    private static let leastBytes = 16 * 1024

    static let statements =
        [
            LockStatement.searches.untyped, backlog.untyped, unindexed.untyped, add.untyped, advance.untyped,
            merge.untyped,
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
        let through: Column<Int64>
        let lastSeq: Column<Int64>
        let seq: Column<Int64?>
        let body: Column<UnsafeRawBufferPointer>
        let attachments: Column<UnsafeRawBufferPointer?>
    }

    static let unindexed = PreparedStatement<UnindexedInput, UnindexedColumns>(
        "search_unindexed", PackageResources.search_unindexed_sql, .store)

    /// The texts of one conversation in one round.
    struct Portion {
        let conversation: ConversationID
        /// The position up to which the conversation is indexed once the texts are.
        let through: Int64
        let lastSeq: Int64
        var texts: [Text] = []

        struct Text {
            let seq: Int64
            let searched: SearchedText
        }

        fileprivate mutating func add(_ row: Row) {
            let columns = SearchIndex.unindexed.columns
            if let seq = row[columns.seq] {
                texts.append(Text(seq: seq, searched: SearchedText(row[columns.body], row[columns.attachments])))
            }
        }
    }

    /// A text as it is stored in the index.
    struct Entry {
        let conversation: ConversationID
        let seq: Int64
        let body: UnsafeRawBufferPointer
        let lexemes: String
        let text: String
    }

    static func set(
        _ conversations: [ConversationID], positionsOfEach positions: Int, of input: UnindexedInput,
        in parameters: inout Parameters
    ) {
        parameters.set(input.conversations, to: conversations)
        parameters.set(input.positions, to: Int64(positions))
        parameters.set(input.bytes, to: Int64(max(leastBytes, batchBytes / conversations.count)))
    }

    /// Folds the texts, in pieces.
    @Reactor
    static func entries(_ portions: [Portion], in turns: TextTurns) async -> [Entry] {
        var entries: [Entry] = []
        var piece = TextTurns.Piece()
        for portion in portions {
            for text in portion.texts {
                await turns.take(text.searched.byteCount, into: &piece)
                let folded = text.searched.withBytes { FoldedText($0) }
                entries.append(
                    Entry(
                        conversation: portion.conversation, seq: text.seq, body: text.searched.text,
                        lexemes: folded.lexemes, text: folded.text))
            }
        }
        return entries
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
                    conversation: conversation, through: row[columns.through], lastSeq: row[columns.lastSeq])
            ].add(row)
        }
        return Array(portions.values)
    }

    // MARK: Writing

    private struct AddInput: NamedFields {
        let conversations: ConversationsInput
        let seqs: Parameter<[Int64]>
        let bodies: Parameter<[UnsafeRawBufferPointer]>
        let lexemes: Parameter<[String]>
        let texts: Parameter<[String]>
    }

    private struct AdvanceInput: NamedFields {
        let conversations: ConversationsInput
        let through: Parameter<[Int64]>
    }

    struct MergeColumns: NamedFields { let pages: Column<Int64> }

    private static let add = PreparedStatement<AddInput, NoFields>(
        "search_add", PackageResources.search_add_sql, .store)
    private static let advance = PreparedStatement<AdvanceInput, NoFields>(
        "search_advance", PackageResources.search_advance_sql, .store)
    static let merge = PreparedStatement<NoFields, MergeColumns>(
        "search_merge", PackageResources.search_merge_sql, .store)

    /// Adds the texts of `portions` to the index and records the progress.
    static func add(_ portions: [Portion], _ entries: [Entry], to batch: inout Batch) {
        batch.execute(LockStatement.searches) { $0.set($1, to: portions.lazy.map(\.conversation)) }
        if !entries.isEmpty { add(entries, to: &batch) }
        batch.execute(advance) { parameters, input in
            parameters.set(input.conversations, to: portions.lazy.map(\.conversation))
            parameters.set(input.through, to: portions.lazy.map(\.through))
        }
    }

    private static func add(_ entries: [Entry], to batch: inout Batch) {
        batch.execute(add) { parameters, input in
            parameters.set(input.conversations, to: entries.lazy.map(\.conversation))
            parameters.set(input.seqs, to: entries.lazy.map(\.seq))
            parameters.set(input.bodies, to: entries.lazy.map(\.body))
            parameters.set(input.lexemes, to: entries.lazy.map(\.lexemes))
            parameters.set(input.texts, to: entries.lazy.map(\.text))
        }
    }
}
