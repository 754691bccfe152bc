import Bytes
import JSON
import Postgres

/// The settings of a user.
struct UserSettings: Equatable {
    /// Whether others learn what this user has read.
    var readReceipts: Bool
    /// Whether others learn when this user is online, and this user when others are.
    var presence: Bool
}

/// The settings of a user for one conversation.
struct ConversationSettings: Equatable {
    /// The value in force.
    var readReceipts: Bool
    /// Whether it follows the user's own setting.
    var inheritsReadReceipts: Bool
}

extension UserSettings {
    init(_ row: Row, _ column: Int) {
        readReceipts = row[column]
        presence = row[column + 1]
    }
}

extension ConversationSettings {
    init(_ row: Row, _ column: Int) {
        readReceipts = row[column]
        inheritsReadReceipts = row[column + 1]
    }

    /// The bits of what `PutConversationSettings` tells.
    enum Told {
        static let readReceipts: Int64 = 1
        static let inherited: Int64 = 2
    }

    init(told: Int64) {
        readReceipts = told & Told.readReceipts != 0
        inheritsReadReceipts = told & Told.inherited != 0
    }
}

extension ByteBuffer {
    mutating func appendFields(_ settings: UserSettings) {
        append(key: "readReceipts", json: settings.readReceipts)
        append(key: "presence", json: settings.presence)
    }

    mutating func appendFields(_ settings: ConversationSettings) {
        append(key: "readReceipts", json: settings.readReceipts)
        append(key: "inherited")
        beginArray()
        if settings.inheritsReadReceipts { append(element: "readReceipts" as StaticString) }
        endArray()
    }
}
