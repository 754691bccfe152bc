import Bytes
import Models

// The queries that ingest sends for clients. Every response is the contract's JSON, or a `Problem`.

/// `listConversations`: the reader's conversations, latest activity first.
///
/// Layout: reader name · limit 2 · before: last activity 8 (ms; maximum: from the start) · conversation 16.
public struct ListConversations: WireCodable, Hashable {
    public var reader: UserID
    public var limit: UInt16
    public var before: ActivityCursor

    public init(reader: UserID, limit: UInt16, before: ActivityCursor) {
        self.reader = reader
        self.limit = limit
        self.before = before
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        reader = try bytes.user()
        limit = try bytes.number()
        before = ActivityCursor(lastActivityAt: try bytes.time(), conversation: try bytes.conversation())
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(reader)
        buffer.append(bigEndian: limit)
        buffer.append(before.lastActivityAt)
        buffer.append(before.conversation)
    }
}

/// A position in the list of conversations, which is ordered by last activity and then by id, both descending. Clients
/// get its text as an opaque string: milliseconds, `_`, conversation id.
public struct ActivityCursor: Hashable, Sendable {
    public var lastActivityAt: Timestamp
    public var conversation: ConversationID

    public init(lastActivityAt: Timestamp, conversation: ConversationID) {
        self.lastActivityAt = lastActivityAt
        self.conversation = conversation
    }

    /// The position before the first conversation.
    public static let start = ActivityCursor(
        // The year 9999 and the highest id: every conversation comes after them.
        lastActivityAt: Timestamp(milliseconds: 253_402_300_799_999),
        conversation: ConversationID(UUIDBytes(high: .max, low: .max)))

    public init?(text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let milliseconds = Int64(parts[0]), let uuid = UUIDBytes(String(parts[1])),
            (0...Self.start.lastActivityAt.milliseconds).contains(milliseconds)
        else { return nil }
        self.init(lastActivityAt: Timestamp(milliseconds: milliseconds), conversation: ConversationID(uuid))
        // Other notations of the same numbers are refused.
        guard text == self.text else { return nil }
    }

    public var text: String { "\(lastActivityAt.milliseconds)_\(conversation)" }
}

/// `conversation`, `conversationSettings`, `invitations`, and the head of every query about a conversation: the conversation and its
/// reader.
///
/// Layout: conversation 16 · reader name.
public struct ConversationQuery: WireCodable, Hashable {
    public var conversation: ConversationID
    public var reader: UserID

    public init(_ conversation: ConversationID, reader: UserID) {
        self.conversation = conversation
        self.reader = reader
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        conversation = try bytes.conversation()
        reader = try bytes.user()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(reader)
    }
}

/// `members`: the current members in the order of their names. `bans` and `joinRequests`: those who were removed, and who ask,
/// as well.
///
/// Layout: head · after name (empty: from the start) · limit 2.
public struct MembersQuery: WireCodable, Hashable {
    public var head: ConversationQuery
    public var after: String
    public var limit: UInt16

    public init(_ head: ConversationQuery, after: String, limit: UInt16) {
        self.head = head
        self.after = after
        self.limit = limit
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        head = try ConversationQuery(from: &bytes)
        after = String(decoding: try bytes.name(), as: UTF8.self)
        limit = try bytes.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        head.write(to: &buffer)
        buffer.append(name: after)
        buffer.append(bigEndian: limit)
    }
}

/// `pinnedMessages`: messages that are pinned, latest pin first.
///
/// Layout: head · before 8 (the highest position: from the latest) · limit 2.
public struct PinnedMessagesQuery: WireCodable, Hashable {
    public var head: ConversationQuery
    public var before: Int64
    public var limit: UInt16

    public init(_ head: ConversationQuery, before: Int64, limit: UInt16) {
        self.head = head
        self.before = before
        self.limit = limit
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        head = try ConversationQuery(from: &bytes)
        before = try bytes.position()
        limit = try bytes.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        head.write(to: &buffer)
        buffer.append(bigEndian: before)
        buffer.append(bigEndian: limit)
    }
}

/// `history`: a page of messages.
///
/// Layout: head · anchor kind 1 · anchor 8 · limit 2.
public struct HistoryQuery: WireCodable, Hashable {
    public enum Anchor: Hashable, Sendable {
        case latest
        case before(Int64)
        case after(Int64)
        /// Half of the page before this position, the rest from it on.
        case around(Int64)
    }

    public var head: ConversationQuery
    public var anchor: Anchor
    public var limit: UInt16

    public init(_ head: ConversationQuery, anchor: Anchor, limit: UInt16) {
        self.head = head
        self.anchor = anchor
        self.limit = limit
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        head = try ConversationQuery(from: &bytes)
        let kind: UInt8 = try bytes.number()
        let seq: Int64 = try bytes.position()
        anchor =
            switch kind {
            case 0: .latest
            case 1: .before(seq)
            case 2: .after(seq)
            case 3: .around(seq)
            default: throw .unknownValue(field: "history anchor", UInt64(kind))
            }
        limit = try bytes.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        head.write(to: &buffer)
        let (kind, seq): (UInt8, Int64) =
            switch anchor {
            case .latest: (0, 0)
            case .before(let seq): (1, seq)
            case .after(let seq): (2, seq)
            case .around(let seq): (3, seq)
            }
        buffer.append(kind)
        buffer.append(bigEndian: seq)
        buffer.append(bigEndian: limit)
    }
}

/// `message`: the current state of a message. `revisions`: its texts.
///
/// Layout: head · message 16.
public struct MessageQuery: WireCodable, Hashable {
    public var head: ConversationQuery
    public var message: MessageID

    public init(_ head: ConversationQuery, message: MessageID) {
        self.head = head
        self.message = message
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        head = try ConversationQuery(from: &bytes)
        message = try bytes.message()
    }

    public func write(to buffer: inout ByteBuffer) {
        head.write(to: &buffer)
        buffer.append(message)
    }
}

/// `tapbacks`, `receipts`: the users who reacted to a message, or received or read it, in the order of their names, after
/// a name.
///
/// Layout: message query · after name (empty: from the start) · limit 2.
public struct AfterUserQuery: WireCodable, Hashable {
    public var message: MessageQuery
    public var after: String
    public var limit: UInt16

    public init(_ message: MessageQuery, after: String, limit: UInt16) {
        self.message = message
        self.after = after
        self.limit = limit
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        message = try MessageQuery(from: &bytes)
        after = String(decoding: try bytes.name(), as: UTF8.self)
        limit = try bytes.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        message.write(to: &buffer)
        buffer.append(name: after)
        buffer.append(bigEndian: limit)
    }
}

/// `votes`: who has voted in a poll, in the order of their names, after a name.
///
/// Layout: as of `tapbacks` · the option that they chose 1 (255: any).
public struct VotesQuery: WireCodable, Hashable {
    public var page: AfterUserQuery
    public var option: Int?

    public init(_ page: AfterUserQuery, option: Int?) {
        self.page = page
        self.option = option
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        page = try AfterUserQuery(from: &bytes)
        let option: UInt8 = try bytes.number()
        self.option = option == .max ? nil : Int(option)
    }

    public func write(to buffer: inout ByteBuffer) {
        page.write(to: &buffer)
        buffer.append(option.map { UInt8($0) } ?? .max)
    }
}

/// `changes`, `digest`, `mentions`: the changes after a position, the digests of the pages that end after it, or the messages
/// after it that mention the reader.
///
/// Layout: head · after 8 · limit 2 (changes, pages or messages).
public struct AfterPositionQuery: WireCodable, Hashable {
    public var head: ConversationQuery
    public var after: Int64
    public var limit: UInt16

    public init(_ head: ConversationQuery, after: Int64, limit: UInt16) {
        self.head = head
        self.after = after
        self.limit = limit
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        head = try ConversationQuery(from: &bytes)
        after = try bytes.position()
        limit = try bytes.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        head.write(to: &buffer)
        buffer.append(bigEndian: after)
        buffer.append(bigEndian: limit)
    }
}
