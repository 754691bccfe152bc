import Models
import Postgres
import Slots
import Wire

/// Stores receipts of an import, and takes them away: `import_receipts.sql`, `drop_receipts.sql`.
enum ReceiptImportStatements {
    static let all = [insertPosition.untyped, store.untyped, drop.untyped]

    private struct Input: NamedFields {
        let key: ConversationInput
        let users: UsersInput
        let ends: Parameter<[Int32]>
        let userPlaces: Parameter<[Int32]>
        let kinds: Parameter<[Int16]>
        let messages: Parameter<[MessageID]>
        let times: Parameter<[Timestamp]>
    }

    private struct Columns: NamedFields {
        let verdicts: Column<[ReceiptVerdict]>
    }

    private struct DropColumns: NamedFields {
        let isDropped: Column<Bool>
        let hasMore: Column<Bool>
    }

    private static let insertPosition = PreparedStatement<ConversationInput, NoFields>(
        "insert_import_position", PackageResources.insert_import_position_sql, .receipt)
    private static let store = PreparedStatement<Input, Columns>(
        "import_receipts", PackageResources.import_receipts_sql, .receipt)
    private static let drop = PreparedStatement<ConversationInput, DropColumns>(
        "drop_receipts", PackageResources.drop_receipts_sql, .receipt)

    /// Adds the statements, with the settings of users on Citus. The conversation's position is made, where it is the first time and nothing is dropped, and
    /// locked.
    static func add(
        _ receipts: [ImportReceipt], _ layout: ReceiptLayout, of conversation: ConversationID,
        borrowing borrowed: [[UInt8]], to batch: inout Batch
    ) {
        batch.execute(insertPosition) { $0.set($1, to: conversation) }
        HorizonStatements.addLock(ofExisting: conversation, to: &batch)
        let arranged = layout.order.lazy.map { receipts[$0] }
        batch.execute(store, borrowing: borrowed) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.users, to: layout.users)
            parameters.set(input.ends, to: layout.ends.lazy.map { Int32($0) })
            parameters.set(input.userPlaces, to: layout.userPlaces.lazy.map { Int32($0 + 1) })
            parameters.set(input.kinds, to: arranged.map { $0.kind.run.rawValue })
            parameters.set(input.messages, to: arranged.map(\.through))
            parameters.set(input.times, to: arranged.map(\.at))
        }
    }

    /// Returns the verdict on each receipt, as they came.
    static func verdicts(_ rows: Rows, _ layout: ReceiptLayout) -> [ReceiptVerdict] {
        layout.inOriginalOrder(rows[0][store.columns.verdicts])
    }

    /// Adds the statements that take a piece away.
    static func addDrop(of conversation: ConversationID, to batch: inout Batch) {
        HorizonStatements.addLock(of: conversation, to: &batch)
        batch.execute(drop) { $0.set($1, to: conversation) }
    }

    /// Returns whether more is left; nil if nothing may be taken away.
    static func hasMore(_ rows: Rows) -> Bool? {
        rows[0][drop.columns.isDropped] ? rows[0][drop.columns.hasMore] : nil
    }
}

extension ImportReceipt.Kind {
    fileprivate var run: RunKind {
        switch self {
        case .delivered: .delivered
        case .read: .read
        }
    }
}
