import Models
import Postgres
import Slots

/// How far the recipients of messages are of which each is the only one of its conversation, as in lists: one statement
/// for all of them in small conversations, and one for all others. They count like `RecipientsStatement` and
/// `ReceiptCounts`, of which each conversation takes one.
enum LoneReceipts {
    static let statements = [small.untyped, large.untyped]

    private struct Input: NamedFields {
        let sender: Parameter<UserID>
        let conversations: ConversationsInput
        let seqs: Parameter<[Int64]>
    }

    private struct SmallInput: NamedFields {
        let messages: Input
        let limit: Parameter<Int32>
    }

    fileprivate struct Columns: NamedFields {
        let place: Column<Int32>
        let recipientCount: Column<Int32>
        let deliveredCount: Column<Int32>
        let readCount: Column<Int32>
        let lastDeliveredAt: Column<Timestamp?>
        let lastReadAt: Column<Timestamp?>
    }

    private struct SmallColumns: NamedFields {
        let receipts: Columns
        let isPresent: Column<Bool>
        let isCounted: Column<Bool>
    }

    private static let small = PreparedStatement<SmallInput, SmallColumns>(
        "lone_receipts", PackageResources.lone_receipts_sql, .store)
    private static let large = PreparedStatement<Input, Columns>(
        "lone_receipts_of_many", PackageResources.lone_receipts_of_many_sql, .store)

    /// Splits messages into those that are alone of their conversation, and the others. A single one is not worth these
    /// statements, which take longer to start than those for one conversation.
    static func split(_ indices: some Collection<Int>, of sent: [SentMessages]) -> (lone: [Int], others: [Int]) {
        let lone = indices.filter { sent[$0].seqs.count == 1 }
        guard lone.count > 1 else { return ([], Array(indices)) }
        return (lone, indices.filter { sent[$0].seqs.count > 1 })
    }

    // MARK: Small conversations

    /// The receipts of a message.
    struct Found {
        /// Whether its sender is in the conversation. Nothing is counted for those who have left.
        let isPresent: Bool
        /// Nil: it is not counted.
        let receipts: Receipts?
    }

    /// - Parameter limit: conversations with more members, or stays, are not counted.
    static func addSmall(_ lone: some Collection<SentMessages>, by sender: UserID, limit: Int, to batch: inout Batch) {
        batch.execute(small) { parameters, input in
            set(lone, by: sender, of: input.messages, in: &parameters)
            parameters.set(input.limit, to: Int32(limit))
        }
    }

    /// Decodes the result, in the order of the messages.
    static func found(_ rows: Rows) -> [Found] {
        let columns = small.columns
        return rows.sorted { $0[columns.receipts.place] < $1[columns.receipts.place] }.map { row in
            Found(
                isPresent: row[columns.isPresent],
                receipts: row[columns.isCounted] ? Receipts(row, columns.receipts) : nil)
        }
    }

    // MARK: Conversations of any size

    static func addLarge(_ lone: some Collection<SentMessages>, by sender: UserID, to batch: inout Batch) {
        batch.execute(large) { parameters, input in set(lone, by: sender, of: input, in: &parameters) }
    }

    /// Decodes the result, in the order of the messages.
    static func counted(_ rows: Rows) -> [Receipts] {
        let columns = large.columns
        return rows.sorted { $0[columns.place] < $1[columns.place] }.map { Receipts($0, columns) }
    }

    private static func set(
        _ lone: some Collection<SentMessages>, by sender: UserID, of input: Input, in parameters: inout Parameters
    ) {
        parameters.set(input.sender, to: sender)
        parameters.set(input.conversations, to: lone.lazy.map(\.conversation))
        parameters.set(input.seqs, to: lone.lazy.map { $0.seqs[0] })
    }
}

extension Receipts {
    fileprivate init(_ row: Row, _ columns: LoneReceipts.Columns) {
        self.init(
            recipients: Int(row[columns.recipientCount]), delivered: Int(row[columns.deliveredCount]),
            read: Int(row[columns.readCount]), lastDeliveredAt: row[columns.lastDeliveredAt],
            lastReadAt: row[columns.lastReadAt])
    }
}
