import Bytes
import JSON

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

extension ConversationSettings {
    /// The bits of what `PutConversationSettings` tells.
    enum Detail {
        static let readReceipts: Int64 = 1
        static let inherited: Int64 = 2
    }

    init(detail: Int64) {
        readReceipts = detail & Detail.readReceipts != 0
        inheritsReadReceipts = detail & Detail.inherited != 0
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
