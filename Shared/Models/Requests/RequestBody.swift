/// The bodies of requests, under the contract's names. Fields that are nil are left out.
public enum RequestBody {
    /// `POST /v1/conversations`. The client chooses the id of a group, a UUID of version 7 or 4. The server derives the
    /// id of a direct conversation from the pair.
    public struct NewConversation: Hashable, Sendable, Codable {
        public var id: ConversationID?
        public var kind: Open<ConversationKind>
        /// The other members.
        public var members: [UserID]
        public var title: String?

        public init(group id: ConversationID, members: [UserID], title: String? = nil) {
            self.id = id
            kind = .known(.group)
            self.members = members
            self.title = title
        }

        public init(directWith user: UserID) {
            kind = .known(.direct)
            members = [user]
        }
    }

    /// `POST …/messages`. It may always be repeated with the same id, and is stored once.
    public struct NewMessage: Hashable, Sendable, Codable {
        /// A UUID of version 7 or 4, created before the first attempt.
        public var id: MessageID
        /// Not blank, at most 16 KiB of UTF-8. Nil only beside attachments, in a sealed message, and in one that is forwarded.
        public var text: String?
        /// What the sender has encrypted, in base64 with padding, at most 32 KiB of it; beside it neither text nor `replyTo`.
        public var sealed: String?
        /// Makes it a poll, of which the text is the question; beside it neither attachments nor `sealed`.
        public var poll: NewPoll?
        /// In place of a text, and of all that follows but `sentAt`.
        public var forward: Forward?
        /// Files that the sender has uploaded, at most 10.
        public var attachments: [AttachmentReference]?
        /// The immediate parent.
        public var replyTo: MessageID?
        public var mentions: [UserID]?
        /// Everybody in a group, where the permission `mentionAll` lets the sender.
        public var mentionsAll: Bool?
        /// The application's own fields, at most 4 KiB as JSON.
        public var extra: [String: JSONValue]?
        /// The client's clock, for display only.
        public var sentAt: Timestamp?

        public init(
            id: MessageID, text: String?, sealed: String? = nil, poll: NewPoll? = nil, forward: Forward? = nil,
            attachments: [AttachmentReference]? = nil, replyTo: MessageID? = nil,
            mentions: [UserID]? = nil, mentionsAll: Bool? = nil, extra: [String: JSONValue]? = nil,
            sentAt: Timestamp? = nil
        ) {
            self.id = id
            self.text = text
            self.sealed = sealed
            self.poll = poll
            self.forward = forward
            self.attachments = attachments
            self.replyTo = replyTo
            self.mentions = mentions
            self.mentionsAll = mentionsAll
            self.extra = extra
            self.sentAt = sentAt
        }
    }

    /// The options of a poll that is sent.
    public struct NewPoll: Hashable, Sendable, Codable {
        /// 2 to 12 different ones, each of 1 to 100 characters.
        public var options: [String]
        /// Whether one may choose several.
        public var multiple: Bool?

        public init(options: [String], multiple: Bool? = nil) {
            self.options = options
            self.multiple = multiple
        }
    }

    /// `PUT …/vote`. It takes the place of the vote before.
    public struct NewVote: Hashable, Sendable, Codable {
        /// Positions of options, from 0. Empty: the vote is withdrawn.
        public var options: [Int]

        public init(options: [Int]) { self.options = options }
    }

    /// The message that is forwarded.
    public struct Forward: Hashable, Sendable, Codable {
        public var conversationId: ConversationID
        public var messageId: MessageID
        /// Whether it shows who wrote it. Nil: no.
        public var origin: Bool?

        public init(conversationId: ConversationID, messageId: MessageID, origin: Bool?) {
            self.conversationId = conversationId
            self.messageId = messageId
            self.origin = origin
        }
    }

    /// An uploaded file that a message is to carry.
    public struct AttachmentReference: Hashable, Sendable, Codable {
        public var id: MediaID

        public init(id: MediaID) { self.id = id }
    }

    /// `POST /v1/messages:batch`: up to 500 messages. The order within each conversation is kept.
    public struct Batch: Hashable, Sendable, Codable {
        public var messages: [BatchMessage]

        public init(messages: [BatchMessage]) { self.messages = messages }
    }

    public struct BatchMessage: Hashable, Sendable {
        public var conversationId: ConversationID
        public var message: NewMessage

        public init(conversationId: ConversationID, message: NewMessage) {
            self.conversationId = conversationId
            self.message = message
        }
    }

    /// `PATCH …/messages/{messageId}`
    public struct Edit: Hashable, Sendable, Codable {
        public var text: String?
        /// In place of a text, of a sealed message.
        public var sealed: String?

        public init(text: String) { self.text = text }

        public init(sealed: String) { self.sealed = sealed }
    }

    /// `PATCH /v1/conversations/{conversationId}`
    public struct Renaming: Hashable, Sendable, Codable {
        public var title: String

        public init(title: String) { self.title = title }
    }

    /// `PUT …/permissions`. Nil leaves a permission unchanged.
    public struct NewPermissions: Hashable, Sendable, Codable {
        public var addMembers: Open<PermittedRoles>?
        public var rename: Open<PermittedRoles>?
        public var write: Open<PermittedRoles>?
        public var mentionAll: Open<PermittedRoles>?

        public init(
            addMembers: PermittedRoles? = nil, rename: PermittedRoles? = nil, write: PermittedRoles? = nil,
            mentionAll: PermittedRoles? = nil
        ) {
            self.addMembers = addMembers.map(Open.known)
            self.rename = rename.map(Open.known)
            self.write = write.map(Open.known)
            self.mentionAll = mentionAll.map(Open.known)
        }
    }

    /// `PUT …/retention`, for administrators. Nil: as in all conversations.
    public struct NewRetention: Hashable, Sendable, Codable {
        @ValueOrNull public var days: Int?

        public init(days: Int?) { self.days = days }
    }

    /// `PUT …/lifetime`. Nil: messages stay until somebody deletes them.
    public struct NewMessageLifetime: Hashable, Sendable, Codable {
        @ValueOrNull public var seconds: Int?
        /// From when on they count. Nil: `sending`.
        public var from: Open<LifetimeStart>?

        public init(seconds: Int?, from: LifetimeStart = .sending) {
            self.seconds = seconds
            self.from = from == .sending ? nil : .known(from)
        }
    }

    /// `PUT /v1/users/{userId}/suspension`, by an administrator.
    public struct NewSuspension: Hashable, Sendable, Codable {
        public var mode: Open<SuspensionMode>
        /// In the future; nil: until it is lifted.
        public var until: Timestamp?
        /// For administrators: the user does not get it.
        public var reason: String?

        public init(_ mode: SuspensionMode, until: Timestamp? = nil, reason: String? = nil) {
            self.mode = .known(mode)
            self.until = until
            self.reason = reason
        }
    }

    /// `POST …/invitations`. It may be repeated with the same id, and makes one invitation; each repetition gives it a new code.
    public struct NewInvitation: Hashable, Sendable, Codable {
        /// A UUID of version 7 or 4, created before the first attempt.
        public var id: InvitationID
        /// From when on it is good no more. Nil: it does not expire.
        public var expiresAt: Timestamp?
        /// How many may come by it. Nil: as many as the group has room for.
        public var maxUses: Int?
        /// Whoever comes by it asks, and owners and admins decide. Nil: they join.
        public var approval: Bool?

        public init(id: InvitationID, expiresAt: Timestamp? = nil, maxUses: Int? = nil, approval: Bool? = nil) {
            self.id = id
            self.expiresAt = expiresAt
            self.maxUses = maxUses
            self.approval = approval
        }
    }

    /// `POST /v1/reports`: a message, a person, or both. It may be repeated with the same id, and is one report.
    public struct NewReport: Hashable, Sendable, Codable {
        /// A UUID of version 7 or 4, created before the first attempt.
        public var id: ReportID
        public var conversationId: ConversationID
        public var messageId: MessageID?
        public var userId: UserID?
        public var reason: Open<ReportReason>
        /// For administrators: at most 1,000 characters.
        public var text: String?

        public init(
            id: ReportID, in conversation: ConversationID, message: MessageID? = nil, user: UserID? = nil,
            reason: ReportReason, text: String? = nil
        ) {
            self.id = id
            conversationId = conversation
            messageId = message
            userId = user
            self.reason = .known(reason)
            self.text = text
        }
    }

    /// `POST …/reports/{reportId}/resolution`. The last one counts.
    public struct NewResolution: Hashable, Sendable, Codable {
        public var action: Open<ReportAction>
        /// For administrators: at most 1,000 characters.
        public var note: String?

        public init(_ action: ReportAction, note: String? = nil) {
            self.action = .known(action)
            self.note = note
        }
    }

    /// `PUT …/members/{userId}`. Without a role an existing member keeps theirs, and a new one becomes a member.
    public struct Role: Hashable, Sendable, Codable {
        public var role: Open<MemberRole>?

        public init(_ role: MemberRole? = nil) { self.role = role.map(Open.known) }
    }

    /// `PUT …/tapback`
    public struct NewTapback: Hashable, Sendable, Codable {
        public var kind: TapbackKind

        public init(kind: TapbackKind) { self.kind = kind }
    }

    /// `POST …/receipts`. Requires at least one of the two positions. They only move forward.
    public struct Receipt: Hashable, Sendable, Codable {
        /// Everything up to here is stored on this device.
        public var deliveredSeq: Int64?
        /// The user has read up to here.
        public var readSeq: Int64?

        public init(deliveredSeq: Int64? = nil, readSeq: Int64? = nil) {
            self.deliveredSeq = deliveredSeq
            self.readSeq = readSeq
        }
    }

    /// `PUT /v1/settings`. Nil leaves a setting unchanged.
    public struct NewSettings: Hashable, Sendable, Codable {
        public var readReceipts: SettingChoice?
        public var presence: SettingChoice?

        public init(readReceipts: SettingChoice? = nil, presence: SettingChoice? = nil) {
            self.readReceipts = readReceipts
            self.presence = presence
        }
    }

    /// `PUT /v1/profile`. It replaces the profile: what is nil is there no more.
    public struct NewProfile: Hashable, Sendable, Codable {
        public var displayName: String?
        public var avatarUrl: String?
        public var extra: [String: JSONValue]?

        public init(displayName: String? = nil, avatarUrl: String? = nil, extra: [String: JSONValue]? = nil) {
            self.displayName = displayName
            self.avatarUrl = avatarUrl
            self.extra = extra
        }
    }

    /// `PUT /v1/conversations/{conversationId}/settings`. Nil leaves a setting unchanged.
    public struct NewSettingsInConversation: Hashable, Sendable, Codable {
        public var readReceipts: SettingChoice?

        public init(readReceipts: SettingChoice? = nil) { self.readReceipts = readReceipts }
    }

    /// `PUT …/mute`. Nil: for ever.
    public struct NewMute: Hashable, Sendable, Codable {
        public var until: Timestamp?

        public init(until: Timestamp? = nil) { self.until = until }
    }

    /// `PUT …/pin`. The lowest order stands first; nil is 0.
    public struct NewPin: Hashable, Sendable, Codable {
        public var order: Int64?

        public init(order: Int64? = nil) { self.order = order }
    }

    /// `PUT …/archive`. The last position that the user was shown; nil: the last one there is.
    public struct NewArchive: Hashable, Sendable, Codable {
        public var throughSeq: Int64?

        public init(throughSeq: Int64? = nil) { self.throughSeq = throughSeq }
    }

    /// `PUT …/draft`. An empty text: there is none.
    public struct NewDraft: Hashable, Sendable, Codable {
        public var text: String
        public var replyTo: MessageID?

        public init(text: String, replyTo: MessageID? = nil) {
            self.text = text
            self.replyTo = replyTo
        }
    }

    /// `PUT …/scheduled/{messageId}`. It takes the place of what was scheduled under the id.
    public struct NewScheduledMessage: Hashable, Sendable, Codable {
        /// When it is to be sent; nil: now.
        @ValueOrNull public var at: Timestamp?
        /// Not blank, at most 16 KiB of UTF-8.
        public var text: String
        public var replyTo: MessageID?
        public var mentions: [UserID]?
        public var mentionsAll: Bool?
        public var extra: [String: JSONValue]?

        public init(
            at: Timestamp?, text: String, replyTo: MessageID? = nil, mentions: [UserID]? = nil,
            mentionsAll: Bool? = nil, extra: [String: JSONValue]? = nil
        ) {
            self.at = at
            self.text = text
            self.replyTo = replyTo
            self.mentions = mentions
            self.mentionsAll = mentionsAll
            self.extra = extra
        }
    }

    /// A user's choice: yes, no, or the value that holds without a choice, which is `null` in JSON.
    public enum SettingChoice: Hashable, Sendable {
        case on, off, byDefault
    }
}

extension RequestBody.BatchMessage: Codable {
    private enum Key: CodingKey { case conversationId }

    public init(from decoder: any Decoder) throws {
        conversationId = try decoder.container(keyedBy: Key.self).decode(ConversationID.self, forKey: .conversationId)
        message = try RequestBody.NewMessage(from: decoder)
    }

    /// Encodes the request as one object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(conversationId, forKey: .conversationId)
        try message.encode(to: encoder)
    }
}

extension RequestBody.SettingChoice: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = container.decodeNil() ? .byDefault : try container.decode(Bool.self) ? .on : .off
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .on: try container.encode(true)
        case .off: try container.encode(false)
        case .byDefault: try container.encodeNil()
        }
    }
}
