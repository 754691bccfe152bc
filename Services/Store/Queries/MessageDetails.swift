import Models
import Postgres

/// The texts of a message, for readers who see the message.
enum RevisionsStatement {
    struct Columns: NamedFields {
        let body: Column<UnsafeRawBufferPointer>
        let at: Column<Timestamp>
        let isSealed: Column<Bool>
    }

    static let statement = PreparedStatement<MessageInput, Columns>(
        "revisions", PackageResources.revisions_sql, .store)
}

/// The tapbacks on a message, for readers who see the message.
enum TapbacksStatement {
    struct Columns: NamedFields {
        let userId: Column<UserID>
        let kind: Column<UnsafeRawBufferPointer>
        let at: Column<Timestamp>
        let counts: Column<UnsafeRawBufferPointer>
    }

    static let statement = PreparedStatement<MessagePageInput, Columns>(
        "tapbacks", PackageResources.tapbacks_sql, .store)
}
