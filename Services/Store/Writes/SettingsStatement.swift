import Models
import Postgres
import Slots

/// The settings of users, in general and for one conversation.
enum SettingsStatement {
    struct UserColumns: NamedFields {
        let readReceipts: Column<Bool>
        let presence: Column<Bool>
    }

    static let ofUser = PreparedStatement<UserInput, UserColumns>("settings", PackageResources.settings_sql, .store)

    struct InConversation: NamedFields {
        let key: ConversationInput
        let user: UserInput
    }

    struct ConversationColumns: NamedFields {
        let readReceipts: Column<Bool>
        let inheritsReadReceipts: Column<Bool>
    }

    static let inConversation = PreparedStatement<InConversation, ConversationColumns>(
        "conversation_settings", PackageResources.conversation_settings_sql, .store)
}

extension UserSettings {
    init(_ row: Row, _ columns: SettingsStatement.UserColumns) {
        self.init(readReceipts: row[columns.readReceipts], presence: row[columns.presence])
    }
}

extension ConversationSettings {
    init(_ row: Row, _ columns: SettingsStatement.ConversationColumns) {
        self.init(
            readReceipts: row[columns.readReceipts], inheritsReadReceipts: row[columns.inheritsReadReceipts])
    }
}
