/// A frame that the server sends on the WebSocket. After `welcome` come the changes since the client's cursors, then
/// live updates.
public enum FrameFromServer: Hashable, Sendable {
    /// The session is open.
    case welcome(Welcome)
    /// A change, in order of `seq` within a conversation. Each is sent exactly once per session, counting replay and
    /// live.
    case change(Change)
    /// A private change, in order of `useq`. Each is sent exactly once per session.
    case `private`(PrivateChange)
    case status(Status)
    case typing(Typing)
    case presence(Presence)
    /// A user's profile has changed.
    case profile(ChangedProfile)
    /// The gap is too long to replay. The session continues after it.
    case reload(Reload)
    /// The client has more than the server, whose database was restored. Discard the conversation, or everything, and
    /// load it again.
    case reset(conversationId: ConversationID?)
    /// The token ends in a minute: send a fresh one.
    case tokenExpiring(at: Timestamp)
    /// The server closes the session.
    case bye(Bye)
    /// The response to a ping, with its id.
    case pong(id: String?)
    /// A frame of a later version, to be ignored.
    case unknown(type: String)
}

extension FrameFromServer {
    public struct Welcome: Hashable, Sendable, Codable {
        public var userId: UserID
        public var sessionId: UUIDBytes
        public var serverTime: Timestamp
        /// The identity of the database. If it differs from the last one, the database was restored, and a `reset`
        /// follows.
        public var logId: UUIDBytes
        /// The position of the private stream.
        public var useq: Int64
        /// The interval of the server's pings.
        public var heartbeatSeconds: Int
        public var capabilities: [String]
        /// The 100 latest conversations.
        public var conversations: [Conversation]
        /// Whether there are more, which `GET /v1/conversations` lists.
        public var more: Bool
        /// Whom the user has blocked. Absent from a server without blocks.
        public var blocked: [UserID]?

        public init(
            userId: UserID, sessionId: UUIDBytes, serverTime: Timestamp, logId: UUIDBytes, useq: Int64,
            heartbeatSeconds: Int, capabilities: [String] = [], conversations: [Conversation], more: Bool,
            blocked: [UserID]? = nil
        ) {
            self.userId = userId
            self.sessionId = sessionId
            self.serverTime = serverTime
            self.logId = logId
            self.useq = useq
            self.heartbeatSeconds = heartbeatSeconds
            self.capabilities = capabilities
            self.conversations = conversations
            self.more = more
            self.blocked = blocked
        }
    }

    /// Receipts that moved in a conversation. Conversations of up to 50 members have them by user, larger ones as
    /// counts for the reader's own last 50 messages. Without receipts it only announces `statusVersion`.
    public struct Status: Hashable, Sendable, Codable {
        public struct Counts: Hashable, Sendable, Codable {
            /// The position of the message.
            public var seq: Int64
            public var deliveredCount: Int
            public var readCount: Int

            public init(seq: Int64, deliveredCount: Int, readCount: Int) {
                self.seq = seq
                self.deliveredCount = deliveredCount
                self.readCount = readCount
            }
        }

        public var conversationId: ConversationID
        /// The version, which only grows. Only the latest one matters.
        public var statusVersion: Int64
        /// The position up to which each user has received.
        public var delivered: [UserID: Int64]?
        /// The position up to which each user has read.
        public var read: [UserID: Int64]?
        public var counts: [Counts]?
        public var at: Timestamp

        public init(
            conversationId: ConversationID, statusVersion: Int64, delivered: [UserID: Int64]? = nil,
            read: [UserID: Int64]? = nil, counts: [Counts]? = nil, at: Timestamp
        ) {
            self.conversationId = conversationId
            self.statusVersion = statusVersion
            self.delivered = delivered
            self.read = read
            self.counts = counts
            self.at = at
        }
    }

    /// Another user types, or has stopped. Typing ends after 6 s without another frame.
    public struct Typing: Hashable, Sendable, Codable {
        public var conversationId: ConversationID
        public var userId: UserID
        public var active: Bool

        public init(conversationId: ConversationID, userId: UserID, active: Bool) {
            self.conversationId = conversationId
            self.userId = userId
            self.active = active
        }
    }

    /// A user is online, or is not. After a reconnection every user counts as not online until a frame says otherwise.
    public struct Presence: Hashable, Sendable, Codable {
        public var userId: UserID
        public var online: Bool
        /// The minute in which the last session ended. Nil while online, and if the user no longer shows it.
        public var lastSeen: Timestamp?

        public init(userId: UserID, online: Bool, lastSeen: Timestamp? = nil) {
            self.userId = userId
            self.online = online
            self.lastSeen = lastSeen
        }
    }

    /// The profile of somebody who shares an open conversation has this version now. Not every change is told: a client
    /// reads again, by versions, what it shows.
    public struct ChangedProfile: Hashable, Sendable, Codable {
        public var userId: UserID
        public var version: Int64

        public init(userId: UserID, version: Int64) {
            self.userId = userId
            self.version = version
        }
    }

    /// A gap that is not replayed. For a conversation, page through its changes up to `lastSeq`. For the private
    /// stream, changes up to `useq` are no longer kept: reload the data they affect.
    public struct Reload: Hashable, Sendable, Codable {
        public var conversationId: ConversationID?
        public var lastSeq: Int64?
        public var useq: Int64?

        public init(conversationId: ConversationID, lastSeq: Int64) {
            self.conversationId = conversationId
            self.lastSeq = lastSeq
        }

        public init(useq: Int64) { self.useq = useq }
    }

    /// The end of a session by the server. After `unauthenticated` get a new token, after `superseded` do not
    /// reconnect. Otherwise, and after an unknown code, reconnect with the cursors.
    public struct Bye: Hashable, Sendable, Codable {
        public var code: Open<ByeCode>
        /// The reason, for developers.
        public var reason: String
        /// The delay in seconds.
        public var retryAfter: Int?
        /// With the code `suspended`: when that ends by itself, if it does.
        public var until: Timestamp?

        public init(code: ByeCode, reason: String, retryAfter: Int? = nil, until: Timestamp? = nil) {
            self.code = .known(code)
            self.reason = reason
            self.retryAfter = retryAfter
            self.until = until
        }
    }
}

extension FrameFromServer: Codable {
    private enum Key: String, CodingKey { case type, change, conversationId, at, id }

    public init(from decoder: any Decoder) throws {
        let frame = try decoder.container(keyedBy: Key.self)
        let type = try frame.decode(Open<ServerFrameType>.self, forKey: .type)
        switch type {
        case .known(.welcome): self = .welcome(try Welcome(from: decoder))
        case .known(.change): self = .change(try frame.decode(Change.self, forKey: .change))
        case .known(.private): self = .private(try PrivateChange(from: decoder))
        case .known(.status): self = .status(try Status(from: decoder))
        case .known(.typing): self = .typing(try Typing(from: decoder))
        case .known(.presence): self = .presence(try Presence(from: decoder))
        case .known(.profile): self = .profile(try ChangedProfile(from: decoder))
        case .known(.reload): self = .reload(try Reload(from: decoder))
        case .known(.reset):
            self = .reset(conversationId: try frame.decodeIfPresent(ConversationID.self, forKey: .conversationId))
        case .known(.tokenExpiring): self = .tokenExpiring(at: try frame.decode(Timestamp.self, forKey: .at))
        case .known(.bye): self = .bye(try Bye(from: decoder))
        case .known(.pong): self = .pong(id: try frame.decodeIfPresent(String.self, forKey: .id))
        case .unknown(let type): self = .unknown(type: type)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var frame = encoder.container(keyedBy: Key.self)
        try frame.encode(type, forKey: .type)
        switch self {
        case .welcome(let welcome): try welcome.encode(to: encoder)
        case .change(let change): try frame.encode(change, forKey: .change)
        case .private(let change): try change.encode(to: encoder)
        case .status(let status): try status.encode(to: encoder)
        case .typing(let typing): try typing.encode(to: encoder)
        case .presence(let presence): try presence.encode(to: encoder)
        case .profile(let profile): try profile.encode(to: encoder)
        case .reload(let reload): try reload.encode(to: encoder)
        case .reset(let conversation): try frame.encodeIfPresent(conversation, forKey: .conversationId)
        case .tokenExpiring(let time): try frame.encode(time, forKey: .at)
        case .bye(let bye): try bye.encode(to: encoder)
        case .pong(let id): try frame.encodeIfPresent(id, forKey: .id)
        case .unknown: break
        }
    }

    public var type: Open<ServerFrameType> {
        switch self {
        case .welcome: .known(.welcome)
        case .change: .known(.change)
        case .private: .known(.private)
        case .status: .known(.status)
        case .typing: .known(.typing)
        case .presence: .known(.presence)
        case .profile: .known(.profile)
        case .reload: .known(.reload)
        case .reset: .known(.reset)
        case .tokenExpiring: .known(.tokenExpiring)
        case .bye: .known(.bye)
        case .pong: .known(.pong)
        case .unknown(let type): .unknown(type)
        }
    }
}
