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

/// Who has voted in a poll, for readers who see the message.
enum VotesStatement {
    struct Input: NamedFields {
        let page: MessagePageInput
        let chosen: Parameter<Int16>
    }

    struct Columns: NamedFields {
        let userId: Column<UserID>
        let options: Column<Int16>
        let at: Column<Timestamp>
    }

    static let statement = PreparedStatement<Input, Columns>("votes", PackageResources.votes_sql, .store)
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
