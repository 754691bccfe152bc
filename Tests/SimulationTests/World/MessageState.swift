import JSON
import Models

@testable import ParleyClient

/// A message as a client receives it, with the fields that the checks need.
struct MessageState: JSONObject {
    var id: MessageID?
    var seq: Int64 = 0
    var changeSeq: Int64 = 0
    var sender: UserID?
    var kind = ""
    var text: String?
    var isDeleted = false
    var isEdited = false
    var tapbackCounts: [String: Int64] = [:]
    var parent: ParentState?

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "id": id = try reader.messageID()
        case "seq": seq = try reader.integer()
        case "changeSeq": changeSeq = try reader.integer()
        case "senderId": sender = try reader.userID()
        case "kind": kind = try reader.string()
        case "text": text = try reader.consumeNull() ? nil : try reader.string()
        case "deletedForEveryone": isDeleted = try reader.bool()
        case "editedAt":
            isEdited = true
            try reader.skip()
        case "tapbackCounts":
            try reader.beginObject()
            while let kind = try reader.nextKey() { tapbackCounts[kind.string] = try reader.integer() }
        case "replyTo": parent = try ParentState(reading: &reader)
        default: try reader.skip()
        }
    }
}

/// What a reply shows of its parent message.
struct ParentState: JSONObject {
    var id: MessageID?
    var preview: String?
    var isUnavailable = false

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "messageId": id = try reader.messageID()
        case "preview": preview = try reader.string()
        case "unavailable": isUnavailable = try reader.bool()
        default: try reader.skip()
        }
    }
}

/// A change as a client receives it.
struct ChangeState: JSONObject {
    var conversation: ConversationID?
    var seq: Int64 = 0
    var kind = ""
    var actor: UserID?
    var message: MessageState?

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "conversationId": conversation = try reader.conversationID()
        case "seq": seq = try reader.integer()
        case "kind": kind = try reader.string()
        case "actorId": actor = try reader.userID()
        case "message": message = try MessageState(reading: &reader)
        default: try reader.skip()
        }
    }
}

/// A change of a private stream.
struct PrivateState: JSONObject {
    var useq: Int64 = 0
    var kind = ""
    var conversation: ConversationID?
    var message: MessageID?
    /// The position that this kind has, out of several possible ones.
    var seq: Int64?

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "useq": useq = try reader.integer()
        case "kind": kind = try reader.string()
        case "conversationId": conversation = try reader.conversationID()
        case "messageId": message = try reader.messageID()
        case "throughSeq", "readSeq": seq = try reader.integer()
        default: try reader.skip()
        }
    }
}

/// A notice that private changes are missing up to a position.
struct ReloadState: JSONObject {
    var useq: Int64 = 0

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        if key == "useq" { useq = try reader.integer() } else { try reader.skip() }
    }
}

/// `GET …/messages` and `GET …/changes`
struct PageState: JSONObject {
    var messages: [MessageState] = []
    var changes: [ChangeState] = []
    var lastSeq: Int64 = 0

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "messages": messages = try MessageState.list(&reader)
        case "changes": changes = try ChangeState.list(&reader)
        case "lastSeq": lastSeq = try reader.integer()
        default: try reader.skip()
        }
    }
}

/// `GET …/revisions` and `GET …/tapbacks`
struct DetailState: JSONObject {
    var texts: [String] = []
    var counts: [String: Int64] = [:]

    private struct Revision: JSONObject {
        var text = ""
        mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
            if key == "text" { text = try reader.string() } else { try reader.skip() }
        }
    }

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "revisions": texts = try Revision.list(&reader).map(\.text)
        case "counts":
            try reader.beginObject()
            while let kind = try reader.nextKey() { counts[kind.string] = try reader.integer() }
        default: try reader.skip()
        }
    }
}

/// The response to a batch. Nil for other requests.
struct BatchState: JSONObject {
    var statuses: [Int64]?

    private struct Result: JSONObject {
        var status: Int64 = 0
        mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
            if key == "status" { status = try reader.integer() } else { try reader.skip() }
        }
    }

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        if key == "results" { statuses = try Result.list(&reader).map(\.status) } else { try reader.skip() }
    }
}

/// The position of a `status` frame.
struct StatusState: JSONObject {
    var version: Int64 = 0

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        if key == "statusVersion" { version = try reader.integer() } else { try reader.skip() }
    }
}
