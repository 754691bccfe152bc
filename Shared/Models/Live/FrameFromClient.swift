/// A frame that a client sends on the WebSocket, to be encoded as one JSON object.
public enum FrameFromClient: Hashable, Sendable {
    /// Sent first, within 10 s.
    case hello(Hello)
    /// The messages up to the positions are stored on this device.
    case delivered([ReceiptPosition])
    /// The user has read up to the positions.
    case read([ReceiptPosition])
    /// Repeated every few seconds while the user types. It expires after 6 s.
    case typing(conversationId: ConversationID, active: Bool)
    /// A fresh token of the same user.
    case auth(token: String)
    /// The `pong` returns the id, of at most 64 bytes.
    case ping(id: String? = nil)
}

extension FrameFromClient {
    public struct Hello: Hashable, Sendable, Codable {
        public var token: String
        /// The last position that the client has of each conversation. One without a cursor starts live.
        public var cursors: [ConversationID: Int64]?
        /// The last position of the private stream. Without it the stream starts live.
        public var useq: Int64?
        /// The last `statusVersion` of each conversation.
        public var statusVersions: [ConversationID: Int64]?
        /// The `logId` of the last `welcome`.
        public var logId: String?
        /// Optional features that the client supports. None are defined in version 1.
        public var capabilities: [String]?

        public init(
            token: String, cursors: [ConversationID: Int64]? = nil, useq: Int64? = nil,
            statusVersions: [ConversationID: Int64]? = nil, logId: String? = nil, capabilities: [String]? = nil
        ) {
            self.token = token
            self.cursors = cursors
            self.useq = useq
            self.statusVersions = statusVersions
            self.logId = logId
            self.capabilities = capabilities
        }
    }

    public struct ReceiptPosition: Hashable, Sendable, Codable {
        public var conversationId: ConversationID
        public var seq: Int64

        public init(conversationId: ConversationID, seq: Int64) {
            self.conversationId = conversationId
            self.seq = seq
        }
    }
}

extension FrameFromClient: Encodable {
    private enum Key: String, CodingKey { case type, items, conversationId, active, token, id }

    public func encode(to encoder: any Encoder) throws {
        var frame = encoder.container(keyedBy: Key.self)
        try frame.encode(type.name.description, forKey: .type)
        switch self {
        case .hello(let hello): try hello.encode(to: encoder)
        case .delivered(let positions), .read(let positions): try frame.encode(positions, forKey: .items)
        case .typing(let conversation, let active):
            try frame.encode(conversation, forKey: .conversationId)
            try frame.encode(active, forKey: .active)
        case .auth(let token): try frame.encode(token, forKey: .token)
        case .ping(let id): try frame.encodeIfPresent(id, forKey: .id)
        }
    }

    public var type: ClientFrameType {
        switch self {
        case .hello: .hello
        case .delivered: .delivered
        case .read: .read
        case .typing: .typing
        case .auth: .auth
        case .ping: .ping
        }
    }
}
