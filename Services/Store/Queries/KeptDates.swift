import Models
import Postgres
import Slots

/// The dates that `receipt` keeps of messages in large conversations.
enum KeptDates {
    struct Input: NamedFields {
        let key: ConversationInput
        let seqs: Parameter<[Int64]>
    }

    struct Columns: NamedFields {
        let kind: Column<RunKind>
        let fromSeq: Column<Int64>
        let toSeq: Column<Int64>
        let at: Column<Timestamp>
    }

    static let statement = PreparedStatement<Input, Columns>("kept_dates", PackageResources.kept_dates_sql, .store)

    static func add(_ messages: SentMessages, to batch: inout Batch) {
        batch.execute(statement) { parameters, input in
            parameters.set(input.key, to: messages.conversation)
            parameters.set(input.seqs, to: messages.seqs)
        }
    }

    static func note(_ rows: Rows, seqs: [Int64], on receipts: inout [Receipts]) {
        let columns = statement.columns
        for row in rows {
            let kind = row[columns.kind], from = row[columns.fromSeq], to = row[columns.toSeq], at = row[columns.at]
            let first = seqs.firstIndex { $0 >= from } ?? seqs.count
            for index in seqs[first...].indices.prefix(while: { seqs[$0] <= to }) {
                if kind == .delivered { receipts[index].lastDeliveredAt = at } else { receipts[index].lastReadAt = at }
            }
        }
    }
}

extension Receipts {
    /// Whether all recipients have the message, or have read it, without a known date.
    var lacksDate: Bool { isDelivered && lastDeliveredAt == nil || isRead && lastReadAt == nil }
}
