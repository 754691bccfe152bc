import Models
import Postgres
import Slots

/// How far each recipient of some messages of a small conversation is, as far as others may see. The counts made from
/// it equal those of `ReceiptCounts`, which works for conversations of any size and reads no list of members.
enum RecipientsStatement {
    private struct Input: NamedFields {
        let key: ConversationInput
        let sender: Parameter<UserID>
        let limit: Parameter<Int64>
    }

    /// How far a recipient is, in one stay.
    struct Columns: NamedFields {
        let joinedSeq: Column<Int64>
        let leftSeq: Column<Int64>
        let deliveredSeq: Column<Int64>
        let shownSeq: Column<Int64>
    }

    private static let prepared = PreparedStatement<Input, Columns>(
        "recipients", PackageResources.recipients_sql, .store)
    static let statement = prepared.untyped

    static func add(_ conversation: ConversationID, by sender: UserID, limit: Int, to batch: inout Batch) {
        batch.execute(prepared) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.sender, to: sender)
            // One stay more than the limit shows that there are more.
            parameters.set(input.limit, to: Int64(limit) + 1)
        }
    }

    /// Whether all stays are listed.
    static func isWhole(_ rows: Rows, limit: Int) -> Bool { !rows.isEmpty && rows.count <= limit }

    /// Returns the receipts of each message.
    static func count(_ rows: Rows, of messages: SentMessages) -> [Receipts] {
        let columns = prepared.columns
        return ReceiptCounts.sum(
            rows.map { span($0, columns, of: messages, count: 1) }, messageCount: messages.seqs.count)
    }

    /// - Parameter count: the number of equal stays.
    static func span(_ row: Row, _ columns: Columns, of messages: SentMessages, count: Int) -> ReceiptCounts.Span {
        let seqs = messages.seqs
        let left = row[columns.leftSeq]
        return ReceiptCounts.Span(
            first: messageCount(seqs, through: row[columns.joinedSeq] - 1),
            memberEnd: messageCount(seqs, through: left),
            deliveredEnd: messageCount(seqs, through: min(left, row[columns.deliveredSeq])),
            readEnd: messageCount(seqs, through: min(left, row[columns.shownSeq])), count: count)
    }

    /// Returns how many of the positions, ascending, are at or before `seq`.
    private static func messageCount(_ seqs: [Int64], through seq: Int64) -> Int {
        var low = 0
        var high = seqs.count
        while low < high {
            let middle = (low + high) / 2
            if seqs[middle] <= seq { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
