import JSON
import Models

/// A frame of the WebSocket, with the fields that this client needs. `change` is valid as long as the frame's bytes.
public struct ServerFrame {
    public var type = ""
    public var conversation: ConversationID?
    public var change: UnsafeRawBufferPointer?
    public var lastSeq: Int64?
    public var user: String?
    public var code: String?
    public var reason: String?
    public var retryAfter: Int64?
    public var isActive = false
    public var status = StatusView()
    /// The latest positions of the user's latest conversations, in a `welcome` frame.
    public var conversations: [ConversationHead] = []
    /// Whether the user has more conversations than these, in a `welcome` frame.
    public var hasMore = false

    public init(_ text: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(text)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "type": type = try reader.string()
            case "conversationId": conversation = try reader.conversationID()
            case "change": change = try reader.encodedValue()
            case "lastSeq": lastSeq = try reader.integer()
            case "userId": user = try reader.string()
            case "code": code = try reader.string()
            case "reason": reason = try reader.string()
            case "retryAfter": retryAfter = try reader.integer()
            case "active": isActive = try reader.bool()
            case "conversations": conversations = try ConversationHead.list(&reader)
            case "more": hasMore = try reader.bool()
            case "delivered": status.delivered = try Self.positions(&reader)
            case "read": status.read = try Self.positions(&reader)
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    private static func positions(_ reader: inout JSONReader) throws(JSONError) -> [String: Int64] {
        var positions: [String: Int64] = [:]
        try reader.beginObject()
        while let user = try reader.nextKey() { positions[user.string] = try reader.integer() }
        return positions
    }
}

/// The delivered and read positions of users in a conversation, from a `status` frame.
public struct StatusView: Equatable {
    public var delivered: [String: Int64] = [:]
    public var read: [String: Int64] = [:]

    public init() {}
}

/// The fields that identify a change's conversation and position. Read for every change, so no text is decoded.
public struct ChangeHead: Equatable, Sendable {
    public var conversation: ConversationID?
    public var seq: Int64 = 0
    public var isCreatedMessage = false
    public var message: MessageID?

    public init(encoded: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(encoded)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "conversationId": conversation = try reader.conversationID()
            case "seq": seq = try reader.integer()
            case "kind": isCreatedMessage = try reader.slice() == "message.created"
            case "message": message = try Self.messageID(&reader)
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    private static func messageID(_ reader: inout JSONReader) throws(JSONError) -> MessageID? {
        var id: MessageID?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if key == "id" { id = try reader.messageID() } else { try reader.skip() }
        }
        return id
    }
}
