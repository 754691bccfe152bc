import Models
import Postgres
import Slots

/// Finds when the last recipient had, and had read, each of some messages of one conversation.
enum ReceiptDates {
    struct Columns: NamedFields {
        let kind: Column<RunKind>
        let first: Column<Int32>
        let runEnd: Column<Int32>
        let at: Column<Timestamp>
    }

    static let statement = PreparedStatement<ReceiptsInput, Columns>(
        "receipt_dates", PackageResources.receipt_dates_sql, .store)

    static func add(_ messages: SentMessages, by sender: UserID, to batch: inout Batch) {
        batch.execute(statement) { parameters, input in parameters.set(input, to: messages, by: sender) }
    }

    /// Notes on each message the latest time at which a recipient reached it.
    static func note(_ rows: Rows, _ columns: Columns = statement.columns, on receipts: inout [Receipts]) {
        for row in rows {
            let kind = row[columns.kind], at = row[columns.at]
            for index in Int(row[columns.first])..<Int(row[columns.runEnd]) {
                if kind != .read { receipts[index].lastDeliveredAt = max(receipts[index].lastDeliveredAt ?? at, at) }
                if kind != .delivered { receipts[index].lastReadAt = max(receipts[index].lastReadAt ?? at, at) }
            }
        }
    }
}
