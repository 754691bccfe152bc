import Models
import Postgres
import Slots
import Wire

/// The statements of a batch of signals. The first ones lock. Only then does the last one, with a fresh snapshot, move
/// the horizons.
enum HorizonStatements {
    static let all =
        [insertPositions.untyped, lockPositions.untyped, AdvanceStatement.statement.untyped]
        + UntoldStatements.notes.all

    private struct LockColumns: NamedFields { let count: Column<Int64> }

    private static let insertPositions = PreparedStatement<ConversationsInput, NoFields>(
        "insert_positions", PackageResources.insert_positions_sql, .receipt)
    private static let lockPositions = PreparedStatement<ConversationsInput, LockColumns>(
        "lock_positions", PackageResources.lock_positions_sql, .receipt)

    /// Adds the statements of a batch. Each key occurs once in it, and the signals of a conversation are adjacent, in
    /// the order of the conversations' keys.
    ///
    /// - Parameters:
    ///   - borrowed: on Citus, the settings of those who read.
    ///   - isKnown: whether a conversation is known to have a position.
    ///   - note: adds the statements that note conversations, and returns how many they are.
    /// - Returns: the index of the statement that notes them; nil if there is none.
    static func add(
        _ signals: [MergedSignal], _ layout: SignalLayout, borrowing borrowed: [[UInt8]], to batch: inout Batch,
        isKnown: (ConversationID) -> Bool, note: (inout Batch) -> Int
    ) -> Int? {
        insertPositions(of: layout.conversations.filter { !isKnown($0) }, to: &batch)
        let place = batch.statementCount
        let hasNote = note(&batch) > 0
        batch.execute(lockPositions) { $0.set($1, to: layout.conversations) }
        AdvanceStatement.add(signals, layout, borrowing: borrowed, to: &batch)
        return hasNote ? place : nil
    }

    /// Adds the statements that make the position of a conversation, if it has none, and lock it.
    static func addLock(of conversation: ConversationID, to batch: inout Batch) {
        insertPositions(of: [conversation], to: &batch)
        addLock(ofExisting: conversation, to: &batch)
    }

    /// Adds the statement that locks the position of a conversation, if it has one.
    static func addLock(ofExisting conversation: ConversationID, to batch: inout Batch) {
        batch.execute(lockPositions) { $0.set($1, to: [conversation]) }
    }

    private static func insertPositions(of conversations: [ConversationID], to batch: inout Batch) {
        if !conversations.isEmpty { batch.execute(insertPositions) { $0.set($1, to: conversations) } }
    }
}
