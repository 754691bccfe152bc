import Models

/// What the user did and the server has not answered yet. Stored as JSON: cases and fields are added, never renamed.
package enum PendingWrite: Hashable, Sendable, Codable {
    /// Without a text it is empty; then there are files. Of a sealed message it is what is sealed, in base64.
    case send(
        text: String, replyTo: MessageID?, mentions: [UserID], sentAt: Timestamp, extra: [String: JSONValue]? = nil,
        mentionsAll: Bool? = nil, isSealed: Bool? = nil, poll: RequestBody.NewPoll? = nil)
    /// Sends what another message says. Until the server has taken that, the copy on the device is shown.
    case forward(RequestBody.Forward, shown: ForwardedContent, sentAt: Timestamp)
    case edit(text: String, isSealed: Bool? = nil)
    case deleteForMe
    case deleteForEveryone
    case setTapback(TapbackKind)
    case removeTapback
    /// Pins the message for everybody, or takes it down.
    case pinMessage(Bool)
    /// Positions of options, ascending; none: the vote is withdrawn.
    case vote([Int])
    case closePoll
    case read(seq: Int64)
    case clearHistory(through: Int64)
    case rename(title: String)
    case putMember(UserID, role: MemberRole.RawValue?)
    case removeMember(UserID)
    case permissions(RequestBody.NewPermissions)
    /// How long messages stay that are sent from then on, in seconds; nil: until somebody deletes them. Whether they count from when
    /// everybody else had read a message.
    case lifetime(Int?, isFromReading: Bool? = nil)
    /// Whoever may add members may bring the user back.
    case liftBan(UserID)
    case createGroup(members: [UserID], title: String?)
    case removeFromList
    case settings(RequestBody.NewSettings)
    case settingsInConversation(RequestBody.NewSettingsInConversation)
    /// - Parameter after: the version of the conversation's marks, as the server had told them, when the user set it.
    case mark(ConversationMark, after: Int64)
    /// Blocks a user, or ends that.
    ///
    /// - Parameter after: the version of the block, as the server had told it, when the user did it.
    case block(UserID, Bool, after: Int64)
    /// Decides about a request: becomes a member, or sees nothing more of it.
    case accept
    case decline
    /// What is being written; nil: nothing any more.
    ///
    /// - Parameter isTold: the server has told of it since it was sent.
    case draft(Draft?, isTold: Bool)

    /// What a forwarded message has of the other one.
    package struct ForwardedContent: Hashable, Sendable, Codable {
        package var text: String?
        package var attachments: [Attachment]?
        package var forwarded: Forwarded?

        package init(text: String? = nil, attachments: [Attachment]? = nil, forwarded: Forwarded? = nil) {
            (self.text, self.attachments, self.forwarded) = (text, attachments, forwarded)
        }
    }

    /// Its name in the database, by which statements find it.
    package var kind: String {
        switch self {
        case .send, .forward: "send"
        case .edit: "edit"
        case .deleteForMe, .deleteForEveryone: "delete"
        case .setTapback, .removeTapback: "tapback"
        case .pinMessage: "pinned"
        case .vote: "vote"
        case .closePoll: "close"
        case .read: "read"
        case .clearHistory: "clear"
        case .rename: "rename"
        case .putMember, .removeMember: "member"
        case .permissions: "permissions"
        case .lifetime: "lifetime"
        case .liftBan: "ban"
        case .createGroup: "create"
        case .removeFromList: "unlist"
        case .settings, .settingsInConversation: "settings"
        case .mark(.muted, _): "mute"
        case .mark(.pinned, _): "pin"
        case .mark(.archived, _): "archive"
        case .mark(.unread, _): "unread"
        case .block: "block"
        case .accept: "accept"
        case .decline: "decline"
        case .draft: "draft"
        }
    }
}

/// A row of the outbox.
package struct OutboxRow: Hashable, Sendable {
    package enum State: Int64, Sendable {
        case waiting = 0
        /// A message that the server refused. It holds back the later messages of its conversation until the user
        /// retries, edits or discards it. Or a new conversation for which there is a message: that has failed by it.
        case failed = 1
        /// Another write that the server refused: it is undone, and kept until the user was told.
        case refused = 2
        /// A draft that is not to be sent by itself.
        case held = 3
    }

    /// Rows with a higher key were written later.
    package var key: Int64
    /// Nil for the user's own settings and blocks.
    package var conversation: ConversationID?
    package var message: MessageID?
    package var write: PendingWrite
    package var idempotencyKey: UUIDBytes
    package var state: State
    /// Whether a request with it was made, so that the server may know it.
    package var wasTried: Bool
    package var problem: ProblemDetails?
    package var at: Timestamp
    /// How many files the message has, and those that there are.
    package var fileCount: Int
    package var files: [OutgoingFile] = []

    package var isRefusedCreation: Bool { state == .failed && write.kind == "create" }

    package init(
        key: Int64, conversation: ConversationID?, message: MessageID?, write: PendingWrite, idempotencyKey: UUIDBytes,
        state: State = .waiting, wasTried: Bool = false, problem: ProblemDetails? = nil, at: Timestamp,
        fileCount: Int = 0
    ) {
        self.key = key
        self.conversation = conversation
        self.message = message
        self.write = write
        self.idempotencyKey = idempotencyKey
        self.state = state
        self.wasTried = wasTried
        self.problem = problem
        self.at = at
        self.fileCount = fileCount
    }

    /// Whether it is a message some of whose files the server does not have yet.
    package var awaitsFiles: Bool { files.count < fileCount || !files.allSatisfy(\.isReady) }
}

/// The response to a pending write that the server carried out.
package enum WriteResponse: Hashable, Sendable {
    case message(Message)
    case conversation(Conversation)
    case member(Membership)
    case settings(Settings)
    case settingsInConversation(SettingsInConversation)
    /// Carried out, and nothing to say about it.
    case done
}
