import Models
import Postgres

/// The recipients who have a message, or have read it, and since when. For its sender.
enum ReceiptsStatement {
    struct Columns: NamedFields {
        let isOwn: Column<Bool>
        let recipientCount: Column<Int64>
        let deliveredCount: Column<Int64>
        let readCount: Column<Int64>
        let userId: Column<UserID>
        let deliveredAt: Column<Timestamp?>
        let readAt: Column<Timestamp?>
    }

    /// A page, with the columns of its rows.
    typealias Page = (rows: Rows, columns: Columns)

    static let statement = PreparedStatement<MessagePageInput, Columns>(
        "receipts", PackageResources.receipts_sql, .store)
}
