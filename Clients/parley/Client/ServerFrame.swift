import JSON
import Models

/// A frame of the WebSocket, as far as this client looks at it. `change` is valid as long as the frame's bytes.
struct ServerFrame {
    var type = ""
    var conversation: ConversationID?
    var change: UnsafeRawBufferPointer?
    var lastSeq: Int64?
    var user: String?
    var code: String?
    var reason: String?
    var retryAfter: Int64?
    var isActive = false
    var status = StatusView()
    /// Of `welcome`: where each of the user's latest conversations stands.
    var conversations: [ConversationHead] = []
    /// Of `welcome`: whether the user has more conversations than these.
    var hasMore = false

    init(_ text: UnsafeRawBufferPointer) throws(JSONError) {
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

/// How far users have received and read a conversation, as a `status` frame tells it.
struct StatusView: Equatable {
    var delivered: [String: Int64] = [:]
    var read: [String: Int64] = [:]
}

/// The part of a change that tells where it belongs: read of every change, so no text is decoded.
struct ChangeHead: Equatable, Sendable {
    var conversation: ConversationID?
    var seq: Int64 = 0
    var isCreatedMessage = false
    var message: MessageID?

    init(encoded: UnsafeRawBufferPointer) throws(JSONError) {
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
