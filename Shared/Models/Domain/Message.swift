/// A message as one user sees it. Within a change it is the same for every reader: without status, dates and counts,
/// and with a bare reference.
///
/// Of two states of a message the one with the higher `changeSeq` is newer.
public struct Message: Hashable, Sendable, Codable, Identifiable {
    /// Chosen by the sender; for a system message by the server.
    public var id: MessageID
    public var conversationId: ConversationID
    /// The position where it was created, from 1; never changes.
    public var seq: Int64
    /// The position of the last change that touched it.
    public var changeSeq: Int64
    /// The sender; for a system message, the user who made the change.
    public var senderId: UserID
    public var kind: Open<MessageKind>
    /// Nil for a message deleted for everyone, for a system message, for a sealed one, and beside attachments without a text.
    @ValueOrNull public var text: String?
    /// Of a sealed message: what its sender has encrypted, in base64. The server does not look into it.
    public var sealed: String?
    /// What a poll asks and how it stands. Nil of any other message, and if it was deleted for everyone.
    public var poll: Poll?
    /// The sender's clock, for display only.
    public var sentAt: Timestamp
    /// The time of the commit by the server's clock. It never decreases along `seq`.
    public var createdAt: Timestamp
    public var editedAt: Timestamp?
    /// Whether only a tombstone is left: no text, tapbacks or mentions.
    @TrueOrAbsent public var deletedForEveryone: Bool
    /// The time when it was deleted for everyone.
    public var deletedAt: Timestamp?
    /// Whether it was deleted because its time was over (`MessageLifetime`), and not by its sender.
    @TrueOrAbsent public var expired: Bool
    /// The event of a system message.
    public var event: SystemEvent?
    /// The immediate parent of a reply.
    public var replyTo: Reference?
    /// The reader's own tapback and the first `ContractLimits.namedTapbacks` others.
    public var tapbacks: [Tapback]
    /// The counts of all tapbacks.
    public var tapbackCounts: [TapbackKind: Int]
    /// At most 100, in the sender's order.
    public var mentions: [UserID]
    /// Whether it mentions everybody.
    @TrueOrAbsent public var mentionsAll: Bool
    /// At most 10, in the sender's order. Nil without any, and if it was deleted for everyone.
    public var attachments: [Attachment]?
    /// The application's own fields, as its sender gave them. Nil without any, and if it was deleted for everyone.
    public var extra: [String: JSONValue]?
    /// Who wrote it, of a forwarded message whose sender says so.
    public var forwarded: Forwarded?
    /// Nil when it is not pinned.
    public var pinned: MessagePin?

    /// Only the sender sees the status, the dates and the counts.
    public var status: Open<DeliveryStatus>?
    /// The time when the last recipient got it, once all have.
    public var dateDelivered: Timestamp?
    /// The time when the last recipient read it, once all have.
    public var dateRead: Timestamp?
    public var deliveredCount: Int?
    public var readCount: Int?
    /// The members whose window covers `seq`, without the sender.
    public var recipientCount: Int?

    public init(
        id: MessageID, conversationId: ConversationID, seq: Int64, changeSeq: Int64, senderId: UserID,
        kind: MessageKind, text: String?, sealed: String? = nil, poll: Poll? = nil, sentAt: Timestamp,
        createdAt: Timestamp,
        editedAt: Timestamp? = nil,
        deletedAt: Timestamp? = nil, expired: Bool = false, event: SystemEvent? = nil, replyTo: Reference? = nil,
        tapbacks: [Tapback] = [],
        tapbackCounts: [TapbackKind: Int] = [:], mentions: [UserID] = [], mentionsAll: Bool = false,
        attachments: [Attachment]? = nil, extra: [String: JSONValue]? = nil, forwarded: Forwarded? = nil,
        pinned: MessagePin? = nil,
        status: DeliveryStatus = .none,
        dateDelivered: Timestamp? = nil, dateRead: Timestamp? = nil, deliveredCount: Int? = nil,
        readCount: Int? = nil, recipientCount: Int? = nil
    ) {
        self.id = id
        self.conversationId = conversationId
        self.seq = seq
        self.changeSeq = changeSeq
        self.senderId = senderId
        self.kind = .known(kind)
        _text = ValueOrNull(wrappedValue: text)
        self.sealed = sealed
        self.poll = poll
        self.sentAt = sentAt
        self.createdAt = createdAt
        self.editedAt = editedAt
        _deletedForEveryone = TrueOrAbsent(wrappedValue: deletedAt != nil)
        self.deletedAt = deletedAt
        self.expired = expired
        self.event = event
        self.replyTo = replyTo
        self.tapbacks = tapbacks
        self.tapbackCounts = tapbackCounts
        self.mentions = mentions
        self.mentionsAll = mentionsAll
        self.attachments = attachments
        self.extra = extra
        self.forwarded = forwarded
        self.pinned = pinned
        self.status = status == .none ? nil : .known(status)
        self.dateDelivered = dateDelivered
        self.dateRead = dateRead
        self.deliveredCount = deliveredCount
        self.readCount = readCount
        self.recipientCount = recipientCount
    }
}

extension Message {
    /// The status; `.none` if there is none, or if it is a state of a later version.
    public var deliveryStatus: DeliveryStatus { status?.known ?? DeliveryStatus.none }

    /// Whether it is something a user wrote.
    public var isSpoken: Bool { kind == .text || kind == .reply || kind == .sealed || kind == .poll }

    /// Whether it mentions a user, by name or with everybody.
    public func mentions(_ user: UserID) -> Bool { senderId != user && (mentionsAll || mentions.contains(user)) }

    /// Whether the server would accept a new text for it: from its sender, within the edit window, unless it is deleted,
    /// sealed, a poll or a system message, or shows who wrote it.
    ///
    /// - Parameter now: by the server's clock.
    public func isEditable(by user: UserID, at now: Timestamp) -> Bool {
        let window = ContractLimits.editWindow.components.seconds * 1000
        return senderId == user && !deletedForEveryone && forwarded == nil && (kind == .text || kind == .reply)
            && now.milliseconds - createdAt.milliseconds <= window
    }

    /// Whether it is of a kind that can be replied to, and not deleted. Only the server checks that the parent is in
    /// the same conversation and within the sender's windows.
    ///
    /// What carries attachments may be replied to only where the deployment's `Limits.replyToAttachments` says so.
    public var isReplyable: Bool {
        !deletedForEveryone && (kind == .text || kind == .reply || kind == .poll) && attachments == nil
    }
}

/// The options of a poll, and how many have chosen each.
public struct Poll: Hashable, Sendable, Codable {
    public struct Option: Hashable, Sendable, Codable {
        public var text: String
        /// How many have chosen it.
        public var votes: Int

        public init(text: String, votes: Int = 0) {
            self.text = text
            self.votes = votes
        }
    }

    /// What a user has chosen: positions of options, from 0, ascending. Empty: nothing.
    public struct Vote: Hashable, Sendable, Codable {
        public var userId: UserID
        public var options: [Int]

        public init(userId: UserID, options: [Int]) {
            self.userId = userId
            self.options = options
        }
    }

    public var options: [Option]
    /// Whether one may choose several options.
    public var multiple: Bool
    /// How many have chosen any.
    public var voters: Int
    /// When it was closed; nil: it is open.
    public var closedAt: Timestamp?
    /// In a response the reader's own; in a change `poll.voted` that of whoever voted; nil in other changes.
    public var vote: Vote?

    public init(
        options: [Option], multiple: Bool = false, voters: Int = 0, closedAt: Timestamp? = nil, vote: Vote? = nil
    ) {
        self.options = options
        self.multiple = multiple
        self.voters = voters
        self.closedAt = closedAt
        self.vote = vote
    }
}

/// Who pinned a message for everybody, and when.
public struct MessagePin: Hashable, Sendable, Codable {
    /// The position of the change `message.pinned`.
    public var seq: Int64
    public var userId: UserID
    public var at: Timestamp

    public init(seq: Int64, userId: UserID, at: Timestamp) {
        self.seq = seq
        self.userId = userId
        self.at = at
    }
}

/// What a message says of a file that it carries. The file itself is read from `media`, by the id.
public struct Attachment: Hashable, Sendable, Codable, Identifiable {
    public var id: MediaID
    /// The name that its sender gave it, of at most 255 bytes. It is not to be trusted.
    public var name: String
    /// The media type, judged by the content, such as `image/jpeg`.
    public var type: String
    /// The bytes of the content.
    public var size: Int64
    /// Of a picture or a video, in pixels, as it is shown.
    public var width: Int?
    public var height: Int?
    /// Of a video or audio, in seconds.
    public var duration: Double?
    /// Of a picture or a video: 25 bytes or so in base64, shown until there is a thumbnail.
    public var thumbhash: String?
    /// Of audio: up to 64 values from 0 to 255.
    public var waveform: [Int]?

    public init(
        id: MediaID, name: String, type: String, size: Int64, width: Int? = nil, height: Int? = nil,
        duration: Double? = nil, thumbhash: String? = nil, waveform: [Int]? = nil
    ) {
        self.id = id
        self.name = name
        self.type = type
        self.size = size
        self.width = width
        self.height = height
        self.duration = duration
        self.thumbhash = thumbhash
        self.waveform = waveform
    }
}

/// The parent of a reply, as far as the reader may see it.
public struct Reference: Hashable, Sendable, Codable {
    public var messageId: MessageID
    /// The parent's position; nil if it is unavailable.
    public var seq: Int64?
    /// Nil if the parent is unavailable, and within changes.
    public var senderId: UserID?
    /// The first 50 characters (grapheme clusters) of the parent's present text. Nil if it is unavailable, and within
    /// changes: there the client finds the parent in its own database, or requests it.
    public var preview: String?
    /// Whether the parent is deleted for everyone or not visible to this reader.
    @TrueOrAbsent public var unavailable: Bool

    public init(messageId: MessageID, seq: Int64, senderId: UserID? = nil, preview: String? = nil) {
        self.messageId = messageId
        self.seq = seq
        self.senderId = senderId
        self.preview = preview
        _unavailable = TrueOrAbsent(wrappedValue: false)
    }

    public init(unavailable messageId: MessageID) {
        self.messageId = messageId
        _unavailable = TrueOrAbsent(wrappedValue: true)
    }
}

/// The event of a system message.
public struct SystemEvent: Hashable, Sendable, Codable {
    public var kind: Open<SystemEventKind>
    /// The user whom a `member.…` event is about.
    public var userId: UserID?
    /// The new title of `conversation.renamed`.
    public var title: String?

    public init(kind: SystemEventKind, userId: UserID? = nil, title: String? = nil) {
        self.kind = .known(kind)
        self.userId = userId
        self.title = title
    }
}

/// A user's reaction to a message; each user has at most one.
public struct Tapback: Hashable, Sendable, Codable {
    public var userId: UserID
    public var kind: TapbackKind

    public init(userId: UserID, kind: TapbackKind) {
        self.userId = userId
        self.kind = kind
    }
}

/// Who first wrote a message that was forwarded.
public struct Forwarded: Hashable, Sendable, Codable {
    public var userId: UserID
    /// By that sender's clock.
    public var sentAt: Timestamp

    public init(userId: UserID, sentAt: Timestamp) {
        self.userId = userId
        self.sentAt = sentAt
    }
}

/// One of the texts of a message, or of what is sealed.
public struct Revision: Hashable, Sendable, Codable {
    /// Nil of a sealed message.
    public var text: String?
    /// Of a sealed message, in base64.
    public var sealed: String?
    /// The time from which this was the text.
    public var at: Timestamp

    public init(text: String?, sealed: String? = nil, at: Timestamp) {
        self.text = text
        self.sealed = sealed
        self.at = at
    }
}
