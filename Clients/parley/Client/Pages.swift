import JSON
import Models

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

/// As `HistoryPage`, its messages still encoded.
struct EncodedHistoryPage: Sendable {
    var messages: [[UInt8]] = []
    var hasMoreAfter = false

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
                while try reader.nextElement() { messages.append(Array(try reader.encodedValue())) }
            case "hasMoreAfter": hasMoreAfter = try reader.bool()
            default: try reader.skip()
            }
        }
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

    init(document: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(document)
        try self.init(reading: &reader)
        try reader.end()
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
