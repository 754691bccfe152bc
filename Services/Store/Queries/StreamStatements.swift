import Models
import Postgres
import Slots
import Wire

/// The state that a user's session starts from: everything but the texts, in one snapshot.
enum BootstrapStatement {
    struct Columns: NamedFields {
        let logId: Column<UUIDBytes>
        let serverTime: Column<Timestamp>
        let lastUseq: Column<Int64>
        let conversationId: Column<ConversationID?>
        let lastSeq: Column<Int64>
        let joinedSeq: Column<Int64>
        let leftSeq: Column<Int64>
        let statusVersion: Column<Int64>
        let memberCount: Column<Int32>
        let showsPresence: Column<Bool>
        let firstUseq: Column<Int64>
    }

    static let statement = PreparedStatement<UserInput, Columns>(
        "bootstrap", PackageResources.bootstrap_sql, .store)

    static func stay(_ row: Row) -> Bootstrap.Stay? {
        let columns = statement.columns
        guard let conversation = row[columns.conversationId] else { return nil }
        let left = row[columns.leftSeq]
        return Bootstrap.Stay(
            conversation: conversation, lastSeq: row[columns.lastSeq], from: row[columns.joinedSeq],
            through: left == 0 ? nil : left, statusVersion: row[columns.statusVersion],
            memberCount: Int(row[columns.memberCount]))
    }
}

/// Selects which of a subscriber's streams have moved on in the database.
enum PositionsStatement {
    struct ConversationsInput: NamedFields {
        let slot: Parameter<Slot>
        let conversations: Parameter<[ConversationID]>
        let seqs: Parameter<[Int64]>
    }

    struct UsersInput: NamedFields {
        let slot: Parameter<Slot>
        let users: Parameter<[UserID]>
        let useqs: Parameter<[Int64]>
    }

    struct ConversationColumns: NamedFields {
        let id: Column<ConversationID>
        let lastSeq: Column<Int64>
    }

    struct UserColumns: NamedFields {
        let userId: Column<UserID>
        let lastUseq: Column<Int64>
    }

    static let conversations = PreparedStatement<ConversationsInput, ConversationColumns>(
        "conversation_positions", PackageResources.conversation_positions_sql, .store)
    static let users = PreparedStatement<UsersInput, UserColumns>(
        "user_positions", PackageResources.user_positions_sql, .store)
}
