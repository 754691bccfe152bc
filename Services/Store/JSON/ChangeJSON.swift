import Bytes
import JSON
import Models
import Wire

/// A change of a conversation, the same for every reader.
struct ChangeFields {
    enum Content {
        /// Creation, edit or deletion of a message, or a tapback on it. Nil if the message is not in a stay of the
        /// reader, who learns only that something changed.
        case message(MessageFields?)
        /// The conversation as it was created, without anything that depends on the reader.
        case conversation(kind: ConversationKind, title: String?, createdAt: Timestamp, memberCount: Int)
        /// The member who was added, removed, or has a new role.
        case member(user: String, role: MemberRole?)
        case title(String)
        case permissions(GroupPermissions)
        /// Nil: messages stay.
        case lifetime(MessageLifetime?)
        /// Messages before this position were removed.
        case trimmed(keptFrom: Int64)
    }

    var conversation: ConversationID
    var seq: Int64
    var kind: ChangeKind
    var at: Timestamp
    var actor: UserID
    var content: Content
}

extension ByteBuffer {
    /// Appends the `Change` of api.md.
    mutating func append(_ change: ChangeFields) {
        append(head: change)
        append(restOf: change)
    }

    /// Appends the part that is the same for every reader of that position: an object without its closing brace.
    mutating func append(head change: ChangeFields) {
        beginObject()
        append(key: "conversationId", json: change.conversation)
        append(key: "seq", json: change.seq)
        append(key: "kind", json: change.kind.name)
        append(key: "at", json: change.at)
        append(key: "actorId", json: change.actor)
    }

    mutating func append(restOf change: ChangeFields) {
        append(change.content, of: change.conversation)
        endObject()
    }

    private mutating func append(_ content: ChangeFields.Content, of conversation: ConversationID) {
        switch content {
        case .message(let message):
            guard let message else { return }
            append(key: "message")
            append(change: message)
        case .conversation(let kind, let title, let createdAt, let memberCount):
            append(key: "conversation")
            beginObject()
            append(key: "id", json: conversation)
            append(key: "kind", json: kind.name)
            append(key: "title", json: title)
            append(key: "createdAt", json: createdAt)
            append(key: "memberCount", json: memberCount)
            endObject()
        case .member(let user, let role):
            append(key: "userId", json: user)
            append(key: "role", json: role?.name)
        case .title(let title):
            append(key: "title", json: title)
        case .permissions(let permissions):
            append(permissions)
        case .lifetime(let lifetime):
            if let lifetime { append(lifetime) }
        case .trimmed(let keptFrom):
            append(key: "keptFrom", json: keptFrom)
        }
    }
}

extension ChangeFields {
    /// Writes the entry for fanout. `user` is the member who was added or removed.
    func writeEntry(about user: String, _ trace: TraceContext? = nil, to buffer: inout ByteBuffer) {
        var messageSeq: Int64?
        if case .message(let message) = content { messageSeq = message?.seq }
        ChangeEntry.write(
            conversation, seq: seq, kind, trace: trace, user: user, messageSeq: messageSeq, to: &buffer,
            head: { $0.append(head: self) }, rest: { $0.append(restOf: self) })
    }
}

/// A change of a user's private stream.
struct PrivateChangeFields {
    enum Settings {
        case ofUser(UserSettings)
        case inConversation(ConversationSettings)
    }

    var useq: Int64
    var kind: PrivateKind
    var at: Timestamp
    var conversation: ConversationID?
    var message: MessageID?
    /// `conversation.joined`: the session is live after this position.
    var lastSeq: Int64?
    /// `history.cleared`: everything up to this position.
    var throughSeq: Int64?
    /// `read.moved`: the user has read up to this position.
    var readSeq: Int64?
    /// `settings.changed`: the settings in force.
    var settings: Settings?
    /// What a user keeps to themselves, as far as the kind is about it.
    var marks: Marks?
    /// `blocked`
    var block: Block?
    /// `profile.changed`; nil: the user is erased.
    var profileVersion: Int64?
    /// `draft`; nil: there is none, or a later change has it.
    var draft: KeptDraft?
    /// `scheduled`; nil: it was sent or is cancelled, or a later change has it.
    var scheduled: ScheduledFields?
    /// `request`: whether it waits.
    var isWaiting: Bool?
    /// `join.requested`: who asks; nil: erased since.
    var requester: UserID?
    /// `conversation.joined`: the number of members. Not for clients.
    var memberCount = 0
    /// `conversation.joined`: the position before the stay, where that is not `lastSeq`. Not for clients.
    var start: Int64?
    /// `conversation.joined`: no change begins the stay. Not for clients.
    var joinsSilently = false

    struct Block {
        /// Nil: erased since.
        var user: UserID?
        var isBlocked: Bool
        /// Where the user's stay in the direct conversation ended, or behind which it begins. 0: there is none.
        var seq: Int64
    }
}

extension PrivateChangeFields {
    /// Writes the entry for fanout.
    ///
    /// - Parameter start: the last position before the stay of a user who joined.
    func write(to buffer: inout ByteBuffer, of user: UserID, joinedAfter start: Int64?) {
        var detail = joinsSilently ? memberCount | PrivateEntry.joinsSilently : memberCount
        if let block { detail = block.isBlocked ? 1 : 0 }
        if case .ofUser(let settings) = settings { detail = settings.presence ? 1 : 0 }
        PrivateEntry.write(
            user, useq: useq, kind, conversation ?? ConversationID(.zero), seq: block?.seq ?? start ?? 0,
            detail: detail,
            to: &buffer
        ) { $0.append(self) }
    }
}

extension ByteBuffer {
    /// Appends the private change of api.md, without the frame's `type`.
    mutating func append(_ change: PrivateChangeFields) {
        beginObject()
        append(key: "useq", json: change.useq)
        append(key: "kind", json: change.kind.name)
        append(key: "at", json: change.at)
        append(key: "conversationId", json: change.conversation)
        append(key: "messageId", json: change.message)
        append(key: "lastSeq", json: change.lastSeq)
        append(key: "throughSeq", json: change.throughSeq)
        append(key: "readSeq", json: change.readSeq ?? change.marks?.unread?.readSeq)
        switch change.settings {
        case .ofUser(let settings): appendFields(settings)
        case .inConversation(let settings): appendFields(settings)
        case nil: break
        }
        if let marks = change.marks { appendFields(marks) }
        append(key: "userId", json: change.block?.user ?? change.requester)
        if let block = change.block { append(key: "blocked", json: block.isBlocked) }
        append(key: "profileVersion", json: change.profileVersion)
        append(change.draft)
        if let scheduled = change.scheduled {
            append(key: "scheduled")
            append(scheduled)
        }
        if let isWaiting = change.isWaiting { append(key: "waiting", json: isWaiting) }
        endObject()
    }
}
