import Bytes
import JSON
import Models
import Wire

/// A conversation as a present or former member sees it.
struct ConversationFields {
    /// One stay. `through` is nil for the present one.
    struct Window {
        var from: Int64
        var through: Int64?
    }

    var id: ConversationID
    var kind: ConversationKind
    var title: String?
    var createdAt: Timestamp
    var lastSeq: Int64
    var lastActivityAt: Timestamp
    var memberCount: Int
    var role: MemberRole
    var windows: [Window]
    var clearedSeq: Int64
    var unreadCount: Int
    /// Those among them that mention the reader.
    var unreadMentions = 0
    var readSeq: Int64
    var deliveredSeq: Int64
    var marks = Marks()
    /// Archived, and not back.
    var isArchived = false
    var isMuted = false
    var draft: KeptDraft?
    /// A request that waits.
    var isRequest = false
    var permissions = GroupPermissions.byDefault
    var lifetime: MessageLifetime?
    /// The first position whose message is kept. Nil: all are.
    var keptFrom: Int64?
}

extension ConversationFields {
    var isMarkedUnread: Bool { marks.unread?.isMarked ?? false }
    var isUnread: Bool { unreadCount > 0 || isMarkedUnread }
    /// Where something is unread.
    var unreadSeqs: ClosedRange<Int64> {
        let first = max(readSeq, clearedSeq) + 1
        return first...max(first, lastSeq)
    }
}

extension ByteBuffer {
    /// Appends the `Conversation` of api.md. `lastMessage` writes the latest message that the reader sees, if any.
    mutating func append(_ conversation: ConversationFields, lastMessage: ((inout ByteBuffer) -> Void)?) {
        beginObject()
        append(key: "id", json: conversation.id)
        append(key: "kind", json: conversation.kind.name)
        append(key: "title", json: conversation.title)
        append(key: "createdAt", json: conversation.createdAt)
        append(key: "lastSeq", json: conversation.lastSeq)
        append(key: "lastActivityAt", json: conversation.lastActivityAt)
        if let lastMessage {
            append(key: "lastMessage")
            lastMessage(&self)
        }
        append(key: "memberCount", json: conversation.memberCount)
        append(key: "role", json: conversation.role.name)
        append(conversation.windows)
        append(key: "clearedSeq", json: conversation.clearedSeq)
        append(key: "unreadCount", json: conversation.unreadCount)
        if conversation.unreadMentions > 0 { append(key: "unreadMentions", json: conversation.unreadMentions) }
        append(key: "readSeq", json: conversation.readSeq)
        append(key: "deliveredSeq", json: conversation.deliveredSeq)
        append(key: "mutedUntil", json: conversation.marks.mutedUntil)
        append(key: "pinOrder", json: conversation.marks.pinOrder)
        append(key: "archivedSeq", json: conversation.marks.archivedSeq)
        if conversation.isArchived { append(key: "archived", json: true) }
        if conversation.isMarkedUnread { append(key: "markedUnread", json: true) }
        append(conversation.draft)
        if conversation.isRequest { append(key: "request", json: true) }
        if conversation.permissions != .byDefault { append(conversation.permissions) }
        if let lifetime = conversation.lifetime { append(lifetime) }
        append(key: "keptFrom", json: conversation.keptFrom)
        endObject()
    }

    /// Appends `permissions`.
    mutating func append(_ permissions: GroupPermissions) {
        append(key: "permissions")
        beginObject()
        append(key: "addMembers", json: permissions.addMembers?.name)
        append(key: "rename", json: permissions.rename?.name)
        append(key: "write", json: permissions.write?.name)
        append(key: "mentionAll", json: permissions.mentionAll?.name)
        endObject()
    }

    /// Appends `messageLifetime`.
    mutating func append(_ lifetime: MessageLifetime) {
        append(key: "messageLifetime")
        beginObject()
        append(key: "seconds", json: lifetime.seconds)
        if let start = lifetime.from?.known { append(key: "from", json: start.name) }
        append(key: "sinceSeq", json: lifetime.sinceSeq)
        endObject()
    }

    private mutating func append(_ windows: [ConversationFields.Window]) {
        append(key: "windows")
        beginArray()
        for window in windows {
            beginElement()
            beginObject()
            append(key: "from", json: window.from)
            append(key: "to", json: window.through)
            endObject()
        }
        endArray()
    }
}
