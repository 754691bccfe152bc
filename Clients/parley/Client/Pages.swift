import JSON
import Models

/// `GET …/messages`: a page of history, ascending.
struct HistoryPage: JSONObject, Sendable {
    var messages: [MessageView] = []
    var hasMoreAfter = false
    var lastSeq: Int64 = 0

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "messages": messages = try MessageView.list(&reader)
        case "hasMoreAfter": hasMoreAfter = try reader.bool()
        case "lastSeq": lastSeq = try reader.integer()
        default: try reader.skip()
        }
    }
}

/// As `HistoryPage`, its messages still encoded.
struct EncodedHistoryPage: JSONObject, Sendable {
    var messages: [[UInt8]] = []
    var hasMoreAfter = false

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "messages": messages = try reader.encodedElements()
        case "hasMoreAfter": hasMoreAfter = try reader.bool()
        default: try reader.skip()
        }
    }
}

/// `GET …/changes`: a page of changes, still encoded.
struct ChangesPage: JSONObject, Sendable {
    var changes: [[UInt8]] = []
    var hasMore = false

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "changes": changes = try reader.encodedElements()
        case "more": hasMore = try reader.bool()
        default: try reader.skip()
        }
    }
}

/// `GET /v1/conversations`: a page of a user's conversations.
struct ConversationsPage: JSONObject, Sendable {
    var conversations: [ConversationHead] = []
    var nextCursor: String?

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "conversations": conversations = try ConversationHead.list(&reader)
        case "nextCursor": nextCursor = try reader.string()
        default: try reader.skip()
        }
    }
}

/// Where a conversation stands.
struct ConversationHead: JSONObject, Equatable, Sendable {
    var id: ConversationID?
    var lastSeq: Int64 = 0

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "id": id = try reader.conversationID()
        case "lastSeq": lastSeq = try reader.integer()
        default: try reader.skip()
        }
    }
}

/// `GET …/members`: a page of members and how far each of them has received and read.
struct MembersPage: JSONObject, Sendable {
    struct Member: JSONObject, Equatable, Sendable {
        var user: UserID?
        var deliveredSeq: Int64 = 0
        var readSeq: Int64 = 0

        mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "userId": user = try reader.userID()
            case "deliveredSeq": deliveredSeq = try reader.integer()
            case "readSeq": readSeq = try reader.integer()
            default: try reader.skip()
            }
        }
    }

    var members: [Member] = []
    var nextCursor: String?

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "members": members = try Member.list(&reader)
        case "nextCursor": nextCursor = try reader.string()
        default: try reader.skip()
        }
    }
}
