import JSON
import Models

/// `GET …/messages`: a page of history, ascending.
public struct HistoryPage: JSONObject, Sendable {
    public var messages: [MessageView] = []
    public var hasMoreAfter = false
    public var lastSeq: Int64 = 0

    public init() {}

    public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "messages": messages = try MessageView.list(&reader)
        case "hasMoreAfter": hasMoreAfter = try reader.bool()
        case "lastSeq": lastSeq = try reader.integer()
        default: try reader.skip()
        }
    }
}

/// A `HistoryPage` with its messages still encoded.
public struct EncodedHistoryPage: JSONObject, Sendable {
    public var messages: [[UInt8]] = []
    public var hasMoreAfter = false

    public init() {}

    public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "messages": messages = try reader.encodedElements()
        case "hasMoreAfter": hasMoreAfter = try reader.bool()
        default: try reader.skip()
        }
    }
}

/// `GET …/changes`: a page of changes, still encoded.
public struct ChangesPage: JSONObject, Sendable {
    public var changes: [[UInt8]] = []
    public var hasMore = false

    public init() {}

    public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "changes": changes = try reader.encodedElements()
        case "more": hasMore = try reader.bool()
        default: try reader.skip()
        }
    }
}

/// `GET /v1/conversations`: a page of a user's conversations.
public struct ConversationsPage: JSONObject, Sendable {
    public var conversations: [ConversationHead] = []
    public var nextCursor: String?

    public init() {}

    public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "conversations": conversations = try ConversationHead.list(&reader)
        case "nextCursor": nextCursor = try reader.string()
        default: try reader.skip()
        }
    }
}

/// The latest position of a conversation.
public struct ConversationHead: JSONObject, Equatable, Sendable {
    public var id: ConversationID?
    public var lastSeq: Int64 = 0

    public init() {}

    public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "id": id = try reader.conversationID()
        case "lastSeq": lastSeq = try reader.integer()
        default: try reader.skip()
        }
    }
}

/// `GET …/members`: a page of members with their delivered and read positions.
public struct MembersPage: JSONObject, Sendable {
    public struct Member: JSONObject, Equatable, Sendable {
        public var user: UserID?
        public var deliveredSeq: Int64 = 0
        public var readSeq: Int64 = 0

        public init() {}

        public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "userId": user = try reader.userID()
            case "deliveredSeq": deliveredSeq = try reader.integer()
            case "readSeq": readSeq = try reader.integer()
            default: try reader.skip()
            }
        }
    }

    public var members: [Member] = []
    public var nextCursor: String?

    public init() {}

    public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "members": members = try Member.list(&reader)
        case "nextCursor": nextCursor = try reader.string()
        default: try reader.skip()
        }
    }
}
