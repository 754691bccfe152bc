import JSON
import Models

/// A message as the contract describes it, as far as this client looks at it.
struct MessageView: Equatable, Sendable {
    var id: MessageID?
    var seq: Int64 = 0
    var sender: UserID?
    var kind = ""
    var text: String?
    var replyTo: MessageID?
    var createdAt: Timestamp?
    var isDeleted = false

    init() {}

    init(reading reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "id": id = try reader.messageID()
            case "seq": seq = try reader.integer()
            case "senderId": sender = try reader.userID()
            case "kind": kind = try reader.string()
            case "text": text = try reader.consumeNull() ? nil : try reader.string()
            case "replyTo": replyTo = try Self.parent(&reader)
            case "createdAt": createdAt = try reader.timestamp()
            case "deletedForEveryone": isDeleted = try reader.bool()
            default: try reader.skip()
            }
        }
    }

    init(document: [UInt8]) throws {
        self = try document.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            let message = try MessageView(reading: &reader)
            try reader.end()
            return message
        }
    }

    private static func parent(_ reader: inout JSONReader) throws(JSONError) -> MessageID? {
        var parent: MessageID?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if key == "messageId" { parent = try reader.messageID() } else { try reader.skip() }
        }
        return parent
    }
}

/// What an acknowledgement must tell: which message it is for and where that stands.
struct AcknowledgedMessage: Equatable {
    let id: MessageID
    let seq: Int64

    init?(document: UnsafeRawBufferPointer) {
        var id: MessageID?
        var seq: Int64?
        do {
            var reader = JSONReader(document)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "id": id = try reader.messageID()
                case "seq": seq = try reader.integer()
                default: try reader.skip()
                }
            }
            try reader.end()
        } catch {
            return nil
        }
        guard let id, let seq else { return nil }
        self.id = id
        self.seq = seq
    }
}

/// `GET …/messages`: a page of history, ascending.
struct HistoryPage: Sendable {
    var messages: [MessageView] = []
    var hasMoreAfter = false
    var lastSeq: Int64 = 0

    init(document: [UInt8]) throws {
        try document.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try read(&reader)
            try reader.end()
        }
    }

    private mutating func read(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "messages":
                try reader.beginArray()
                while try reader.nextElement() { messages.append(try MessageView(reading: &reader)) }
            case "hasMoreAfter": hasMoreAfter = try reader.bool()
            case "lastSeq": lastSeq = try reader.integer()
            default: try reader.skip()
            }
        }
    }
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

/// `GET …/changes`: a page of changes, still encoded.
struct ChangesPage: Sendable {
    var changes: [[UInt8]] = []
    var hasMore = false

    init(document: [UInt8]) throws {
        try document.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try read(&reader)
            try reader.end()
        }
    }

    private mutating func read(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "changes":
                try reader.beginArray()
                while try reader.nextElement() { changes.append(Array(try reader.encodedValue())) }
            case "more": hasMore = try reader.bool()
            default: try reader.skip()
            }
        }
    }
}

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

/// Where a conversation stands.
struct ConversationHead: Equatable, Sendable {
    var id: ConversationID?
    var lastSeq: Int64 = 0

    static func list(_ reader: inout JSONReader) throws(JSONError) -> [ConversationHead] {
        var heads: [ConversationHead] = []
        try reader.beginArray()
        while try reader.nextElement() { heads.append(try ConversationHead(reading: &reader)) }
        return heads
    }

    private init(reading reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "id": id = try reader.conversationID()
            case "lastSeq": lastSeq = try reader.integer()
            default: try reader.skip()
            }
        }
    }
}

/// `GET /v1/conversations`: a page of a user's conversations.
struct ConversationsPage: Sendable {
    var conversations: [ConversationHead] = []
    var nextCursor: String?

    init(document: [UInt8]) throws {
        try document.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "conversations": conversations = try ConversationHead.list(&reader)
                case "nextCursor": nextCursor = try reader.string()
                default: try reader.skip()
                }
            }
            try reader.end()
        }
    }
}

/// `GET …/members`: a page of members and how far each of them has received and read.
struct MembersPage: Sendable {
    struct Member: Equatable, Sendable {
        var user: UserID?
        var deliveredSeq: Int64 = 0
        var readSeq: Int64 = 0
    }

    var members: [Member] = []
    var nextCursor: String?

    init(document: [UInt8]) throws {
        try document.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try read(&reader)
            try reader.end()
        }
    }

    private mutating func read(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "members":
                try reader.beginArray()
                while try reader.nextElement() { members.append(try Self.member(&reader)) }
            case "nextCursor": nextCursor = try reader.string()
            default: try reader.skip()
            }
        }
    }

    private static func member(_ reader: inout JSONReader) throws(JSONError) -> Member {
        var member = Member()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "userId": member.user = try reader.userID()
            case "deliveredSeq": member.deliveredSeq = try reader.integer()
            case "readSeq": member.readSeq = try reader.integer()
            default: try reader.skip()
            }
        }
        return member
    }
}

/// How far users have received and read a conversation, as a `status` frame tells it.
struct StatusView: Equatable {
    var delivered: [String: Int64] = [:]
    var read: [String: Int64] = [:]
}
