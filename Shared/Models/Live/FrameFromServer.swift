/// A frame that the server sends on the WebSocket. After `welcome` comes what the client's cursors miss, then everything
/// as it happens.
public enum FrameFromServer: Hashable, Sendable {
    /// The session is open.
    case welcome(Welcome)
    /// In order of `seq` within a conversation, each exactly once per session, replay and live together.
    case change(Change)
    /// In order of `useq`, each exactly once per session.
    case `private`(PrivateChange)
    case status(Status)
    case typing(Typing)
    case presence(Presence)
    /// The gap is too long to replay, and the session goes on after it.
    case reload(Reload)
    /// The client knows more than the server, whose database was restored: discard the conversation, or everything, and
    /// load it anew.
    case reset(conversationId: ConversationID?)
    /// A minute before the token ends: send a fresh one.
    case tokenExpiring(at: Timestamp)
    /// The server closes.
    case bye(Bye)
    /// The answer to a ping, with its id.
    case pong(id: String?)
    /// Of a later version: to be passed over.
    case unknown(type: String)
}

extension FrameFromServer {
    public struct Welcome: Hashable, Sendable, Codable {
        public var userId: UserID
        public var sessionId: UUIDBytes
        public var serverTime: Timestamp
        /// Names the database. Another one than before: it was restored, and a `reset` follows.
        public var logId: UUIDBytes
        /// Where the private stream is.
        public var useq: Int64
        /// The server pings so often.
        public var heartbeatSeconds: Int
        public var capabilities: [String]
        /// The 100 latest.
        public var conversations: [Conversation]
        /// Further ones are listed by `GET /v1/conversations`.
        public var more: Bool

        public init(
            userId: UserID, sessionId: UUIDBytes, serverTime: Timestamp, logId: UUIDBytes, useq: Int64,
            heartbeatSeconds: Int, capabilities: [String] = [], conversations: [Conversation], more: Bool
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
        }
    }

    /// Receipts of a conversation that moved. In conversations of up to 50 members by user, in larger ones as counts of the
    /// reader's own last 50 messages. Without any of them it says only how far `statusVersion` is.
    public struct Status: Hashable, Sendable, Codable {
        public struct Counts: Hashable, Sendable, Codable {
            /// Of the message.
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
        /// Only grows. The latest is all that matters.
        public var statusVersion: Int64
        /// Up to which position each user has received …
        public var delivered: [UserID: Int64]?
        /// … and read.
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

    /// Somebody else types, or stopped. Without another one it ends after 6 s.
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

    /// Somebody is online, or is not. After a reconnection everybody is to be taken as not online until told otherwise.
    public struct Presence: Hashable, Sendable, Codable {
        public var userId: UserID
        public var online: Bool
        /// The minute in which the last session ended; nil while online, and where the user does not show it any more.
        public var lastSeen: Timestamp?

        public init(userId: UserID, online: Bool, lastSeen: Timestamp? = nil) {
            self.userId = userId
            self.online = online
            self.lastSeen = lastSeen
        }
    }

    /// Of a conversation: page through its changes up to `lastSeq`. Of the private stream: changes up to `useq` are no
    /// longer kept; load what they tell of anew.
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

    /// Why the server closes. After `unauthenticated` get a new token, after `superseded` stay away, otherwise (also after
    /// an unknown code) come back with the cursors.
    public struct Bye: Hashable, Sendable, Codable {
        public var code: Open<ByeCode>
        /// For a developer to read.
        public var reason: String
        /// Seconds.
        public var retryAfter: Int?

        public init(code: ByeCode, reason: String, retryAfter: Int? = nil) {
            self.code = .known(code)
            self.reason = reason
            self.retryAfter = retryAfter
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
        case .reload: .known(.reload)
        case .reset: .known(.reset)
        case .tokenExpiring: .known(.tokenExpiring)
        case .bye: .known(.bye)
        case .pong: .known(.pong)
        case .unknown(let type): .unknown(type)
        }
    }
}
