import Models
import Postgres
import Slots

/// The messages of one conversation whose receipts are counted, and their sender, who is no recipient.
struct ReceiptsInput: NamedFields {
    let key: ConversationInput
    let sender: Parameter<String>
    let seqs: Parameter<[Int64]>
}

extension Parameters {
    /// - Parameter sender: nil counts everybody.
    mutating func set(_ input: ReceiptsInput, to messages: SentMessages, by sender: UserID?) {
        set(input.key, to: messages.conversation)
        set(input.sender, to: sender?.name ?? "")
        set(input.seqs, to: messages.seqs)
    }
}

/// Counts how far the recipients of some messages of one conversation are, as far as others may see, in one pass over
/// the conversation's horizons.
enum ReceiptCounts {
    struct Columns: NamedFields {
        let first: Column<Int32>
        let memberEnd: Column<Int32>
        let deliveredEnd: Column<Int32>
        let readEnd: Column<Int32>
        let count: Column<Int64>
    }

    static let statement = PreparedStatement<ReceiptsInput, Columns>(
        "receipt_counts", PackageResources.receipt_counts_sql, .store)

    /// - Parameter sender: nil counts everybody.
    static func add(_ messages: SentMessages, by sender: UserID?, to batch: inout Batch) {
        batch.execute(statement) { parameters, input in parameters.set(input, to: messages, by: sender) }
    }

    /// Stays that are counted alike, from message `first`, counted from 0, up to but not including each end. An end
    /// before `first` is an empty range. A negative count is subtracted.
    struct Span {
        var first: Int
        var memberEnd: Int
        var deliveredEnd: Int
        var readEnd: Int
        var count: Int
    }

    static func decode(_ rows: Rows) -> [Span] {
        let columns = statement.columns
        return rows.map { row in
            Span(
                first: Int(row[columns.first]), memberEnd: Int(row[columns.memberEnd]),
                deliveredEnd: Int(row[columns.deliveredEnd]), readEnd: Int(row[columns.readEnd]),
                count: Int(row[columns.count]))
        }
    }

    /// Returns the receipts of each message. They differ from those of the message before by the spans that begin and
    /// end there.
    static func sum(_ spans: [Span], messageCount: Int) -> [Receipts] {
        var steps = Array(repeating: Receipts(recipients: 0, delivered: 0, read: 0), count: messageCount + 1)
        for span in spans {
            steps[span.first].recipients += span.count
            steps[max(span.first, span.memberEnd)].recipients -= span.count
            steps[span.first].delivered += span.count
            steps[max(span.first, span.deliveredEnd)].delivered -= span.count
            steps[span.first].read += span.count
            steps[max(span.first, span.readEnd)].read -= span.count
        }
        for index in steps.indices.dropFirst() {
            steps[index].recipients += steps[index - 1].recipients
            steps[index].delivered += steps[index - 1].delivered
            steps[index].read += steps[index - 1].read
        }
        return Array(steps.dropLast())
    }
}
