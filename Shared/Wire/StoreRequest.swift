import Bytes
import Models

/// The kinds of requests to `store`. Numbers are retired, never reused.
public enum StoreRequestKind: UInt8, CaseIterable, Sendable {
    // Commands: committed in batches, safe to repeat.
    case createConversation = 1
    case sendMessages = 2
    case write = 3
    case readMoved = 4
    case putSettings = 5
    case revokeTokens = 6
    case importRecords = 7
    case dropImport = 8
    case putProfile = 9
    case eraseUser = 10
    case eraseStep = 11
    case sendWithAttachments = 12
    case endDevices = 13
    case noteDevice = 14
    case suspendUser = 15
    case sendWhole = 16
    case expireMessages = 17
    case recordAct = 18
    case endAct = 19
    case sendSealed = 20
    case sendScheduled = 21
    case sendPoll = 22
    case sendForwarded = 23
    case trimHistory = 24

    // Queries of clients. The response is client JSON.
    case listConversations = 64
    case conversation = 65
    case members = 66
    case history = 67
    case message = 68
    case changes = 69
    case revisions = 70
    case tapbacks = 71
    case sync = 72
    case settings = 73
    case conversationSettings = 74
    case receipts = 76
    case search = 77
    case digest = 78
    case unreadTotal = 79
    case blocks = 84
    case profiles = 85
    case requests = 87
    case bans = 88
    case invitations = 89
    case invitation = 90
    case devices = 91
    case pinnedMessages = 95
    case joinRequests = 97
    case mentions = 101
    case scheduled = 102
    case votes = 103

    // Queries of ingest.
    case forwardSource = 98
    case writtenMessages = 104

    // Queries of administrators. The response is client JSON.
    case suspension = 92
    case reports = 93
    case report = 94
    case acts = 100

    // Queries of exports. The response has records in the layout of an import.
    case exportedConversations = 80
    case exportHead = 81
    case exportPage = 82
    case exportReceipts = 83

    // Queries of fanout. The response has entries of its streams.
    case bootstrap = 128
    case replay = 129
    case privateReplay = 130
    case positions = 131
    case senderCounts = 132

    // Queries of fanout, ingest and media, which verify tokens.
    case erasedUsers = 140
    case revocations = 141

    // Queries of media.
    case mayReadAttachment = 150

    // Queries of stores and receipt services about what is in other shards.
    case statement = 160
    case userRows = 161

    /// Whether the request writes.
    public var isCommand: Bool { rawValue < 64 }
}

/// `createConversation`: creates a group with these members besides its creator, or the direct conversation of a pair.
///
/// Layout: conversation 16 · kind 1 · creator name · title length 2, UTF-8 · members 2 × name · `Introduction`.
/// Response: 201 or 200 with the conversation's JSON for its creator.
public struct CreateConversation: WireCodable, Hashable {
    public var conversation: ConversationID
    public var kind: ConversationKind
    public var creator: UserID
    /// Empty for no title.
    public var title: String
    /// Without the creator and without repetitions.
    public var members: [UserID]
    public var introduction: Introduction

    public init(
        conversation: ConversationID, kind: ConversationKind, creator: UserID, title: String, members: [UserID],
        _ introduction: Introduction = Introduction()
    ) {
        self.conversation = conversation
        self.kind = kind
        self.creator = creator
        self.title = title
        self.members = members
        self.introduction = introduction
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        let number: UInt8 = try reader.number()
        guard let kind = ConversationKind(rawValue: number) else {
            throw .unknownValue(field: "conversation kind", UInt64(number))
        }
        self.kind = kind
        creator = try reader.user()
        title = String(decoding: try reader.bytes(Int(try reader.number(UInt16.self))), as: UTF8.self)
        members = []
        for _ in 0..<(try reader.number(UInt16.self)) { members.append(try reader.user()) }
        introduction = try Introduction(from: &reader, count: members.count)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(kind.rawValue)
        buffer.append(creator)
        buffer.append(bigEndian: UInt16(title.utf8.count))
        buffer.append(utf8: title)
        buffer.append(bigEndian: UInt16(members.count))
        for member in members { buffer.append(member) }
        introduction.write(to: &buffer)
    }
}

/// `sendMessages`: sends messages of one sender to one conversation, in order. `sendWithAttachments`, `sendWhole`,
/// `sendSealed`, `sendPoll` and `sendForwarded`: the same, with more of each message (`NewMessage.Parts`).
///
/// Layout: conversation 16 · sender name · count 2 · count × message (see `NewMessage`).
/// Response: count × item (see `SendResponse`).
public struct SendMessages {
    public var conversation: ConversationID
    public var sender: UserID
    public var count: Int
    private let parts: NewMessage.Parts
    private var messages: ByteReader

    /// Reads the head; `forEachMessage` reads the messages without copies. Valid as long as the bytes.
    public init(from reader: inout ByteReader, _ parts: NewMessage.Parts = .text) throws(WireError) {
        self.parts = parts
        conversation = try reader.conversation()
        sender = try reader.user()
        count = Int(try reader.number(UInt16.self))
        messages = ByteReader(reader.readRest())
    }

    public func forEachMessage(_ body: (NewMessage) -> Void) throws(WireError) {
        var reader = messages
        for _ in 0..<count { body(try NewMessage(from: &reader, parts)) }
    }

    /// Writes the head; the messages follow with `NewMessage.write`.
    public static func writeHead(
        _ conversation: ConversationID, _ sender: UserID, count: Int, to buffer: inout ByteBuffer
    ) {
        buffer.append(conversation)
        buffer.append(sender)
        buffer.append(bigEndian: UInt16(count))
    }
}

/// A message in a `sendMessages` request, or one with more parts. It borrows its bytes from the frame or the client's request.
///
/// Layout: message 16 · sent at 8 (ms) · reply to 16 (zero: none) · mentions length 2, user names with commas between
/// them (no name contains one) · text length 4, UTF-8 (empty: no text) · in all but `sendMessages`: `AttachmentList` · but
/// in `sendWithAttachments`: extra length 4, JSON object (empty: none) · but in `sendWhole`: 1 if it is sealed 1 · but in `sendSealed`:
/// `NewPoll`, or 1 byte of 0 for none · in `sendForwarded`: `Forward`.
public struct NewMessage {
    /// What a request has of each message.
    public enum Parts: Int, Comparable, Sendable {
        case text
        case attachments
        case whole
        case sealed
        case poll
        case forwarded

        /// Each has all that those before it have.
        public static func < (one: Parts, other: Parts) -> Bool { one.rawValue < other.rawValue }

        /// Nil: of a kind that sends no messages.
        public init?(_ kind: StoreRequestKind) {
            switch kind {
            case .sendMessages: self = .text
            case .sendWithAttachments: self = .attachments
            case .sendWhole: self = .whole
            case .sendSealed: self = .sealed
            case .sendPoll: self = .poll
            case .sendForwarded: self = .forwarded
            default: return nil
            }
        }
    }

    public var id: MessageID
    public var sentAt: Timestamp
    public var replyTo: MessageID?
    public var mentions: UnsafeRawBufferPointer
    /// Empty only beside attachments. Of a sealed message what is sealed, in base64.
    public var text: UnsafeRawBufferPointer
    public var attachments: AttachmentList
    /// The application's own JSON object; empty for none.
    public var extra: UnsafeRawBufferPointer
    public var isSealed: Bool
    /// As `NewPoll` is encoded; empty for none. Borrowed like all else: a message with an array of its own would cost every message.
    private var encodedPoll: UnsafeRawBufferPointer
    /// As `Forward` is encoded; empty for none.
    private var encodedForward: UnsafeRawBufferPointer

    public var isPoll: Bool { !encodedPoll.isEmpty }
    public var isForwarded: Bool { !encodedForward.isEmpty }

    public var poll: NewPoll? {
        guard isPoll else { return nil }
        var reader = ByteReader(encodedPoll)
        return (try? NewPoll.optional(from: &reader)) ?? nil
    }

    /// What it is made of, if it is forwarded.
    public var forward: Forward? {
        guard isForwarded else { return nil }
        var reader = ByteReader(encodedForward)
        return try? Forward(from: &reader)
    }

    /// - Parameters:
    ///   - poll: as `NewPoll` is encoded.
    ///   - forward: as `Forward` is encoded.
    public init(
        id: MessageID, sentAt: Timestamp, replyTo: MessageID?, mentions: UnsafeRawBufferPointer,
        text: UnsafeRawBufferPointer, attachments: AttachmentList = .none,
        extra: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), isSealed: Bool = false,
        poll: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        forward: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        self.id = id
        self.sentAt = sentAt
        self.replyTo = replyTo
        self.mentions = mentions
        self.text = text
        self.attachments = attachments
        self.extra = extra
        self.isSealed = isSealed
        encodedPoll = poll
        encodedForward = forward
    }

    public init(from reader: inout ByteReader, _ parts: Parts = .text) throws(WireError) {
        id = try reader.message()
        sentAt = try reader.time()
        replyTo = try reader.optionalMessage()
        mentions = try reader.bytes(Int(try reader.number(UInt16.self)))
        text = try reader.long()
        attachments = parts == .text ? .none : try AttachmentList(from: &reader)
        extra = parts >= .whole ? try reader.long() : UnsafeRawBufferPointer(start: nil, count: 0)
        isSealed = parts >= .sealed ? try reader.number(UInt8.self) == 1 : false
        encodedPoll =
            parts >= .poll ? try NewPoll.encoded(from: &reader) : UnsafeRawBufferPointer(start: nil, count: 0)
        encodedForward =
            parts == .forwarded ? try Forward.encoded(from: &reader) : UnsafeRawBufferPointer(start: nil, count: 0)
    }

    public func write(to buffer: inout ByteBuffer, _ parts: Parts = .text) {
        buffer.append(id)
        buffer.append(sentAt)
        buffer.append(replyTo)
        buffer.append(bigEndian: UInt16(mentions.count))
        buffer.append(mentions)
        buffer.append(long: text)
        if parts != .text { attachments.write(to: &buffer) }
        if parts >= .whole { buffer.append(long: extra) }
        if parts >= .sealed { buffer.append(isSealed ? 1 : 0 as UInt8) }
        guard parts >= .poll else { return }
        if isPoll { buffer.append(encodedPoll) } else { NewPoll.write(nil, to: &buffer) }
        if parts == .forwarded { buffer.append(encodedForward) }
    }
}

/// What makes a message a poll.
///
/// Layout: count of options 1 · 1 if one may choose several 1 · count × (length 2, UTF-8).
public struct NewPoll: Hashable, Sendable {
    public var options: [String]
    public var isMultiple: Bool

    public init(options: [String], isMultiple: Bool) {
        self.options = options
        self.isMultiple = isMultiple
    }

    /// For `NewMessage`.
    public func withEncoded<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var buffer = ByteBuffer()
        Self.write(self, to: &buffer)
        return body(buffer.bytes)
    }

    /// The bytes of one, or none.
    static func encoded(from reader: inout ByteReader) throws(WireError) -> UnsafeRawBufferPointer {
        var start = reader
        guard try optional(from: &reader) != nil else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return try start.bytes(start.remaining - reader.remaining)
    }

    static func optional(from reader: inout ByteReader) throws(WireError) -> NewPoll? {
        let count: UInt8 = try reader.number()
        guard count > 0 else { return nil }
        let isMultiple = try reader.number(UInt8.self) == 1
        var options: [String] = []
        for _ in 0..<count {
            options.append(String(decoding: try reader.bytes(Int(try reader.number(UInt16.self))), as: UTF8.self))
        }
        return NewPoll(options: options, isMultiple: isMultiple)
    }

    /// Writes it, or that there is none.
    public static func write(_ poll: NewPoll?, to buffer: inout ByteBuffer) {
        guard let poll else { return buffer.append(0 as UInt8) }
        buffer.append(UInt8(poll.options.count))
        buffer.append(poll.isMultiple ? 1 : 0 as UInt8)
        for option in poll.options {
            buffer.append(bigEndian: UInt16(option.utf8.count))
            buffer.append(utf8: option)
        }
    }
}

/// Options of a poll, a bit for each: the first is the lowest.
public struct PollOptions: Hashable, Sendable {
    public let bits: UInt16

    public init(bits: UInt16) { self.bits = bits }

    /// Nil: there is no poll with such a position.
    public init?(positions: [Int]) {
        var bits: UInt16 = 0
        for position in positions {
            guard 0..<ContractLimits.pollOptions ~= position else { return nil }
            bits |= 1 << UInt16(position)
        }
        self.bits = bits
    }

    /// Ascending.
    public var positions: [Int] { (0..<UInt16.bitWidth).filter { bits >> UInt16($0) & 1 == 1 } }
}

/// The response to `sendMessages`: for each message, in order, status 2 · length 4 · body, which is the message's JSON
/// for its sender below status 400, else a `Problem`.
public enum SendResponse {
    public static func append(status: UInt16, to buffer: inout ByteBuffer, body: (inout ByteBuffer) -> Void) {
        buffer.append(bigEndian: status)
        buffer.appendLong(body)
    }

    public static func append(_ problem: Problem, to buffer: inout ByteBuffer) {
        append(status: problem.code.status, to: &buffer) { problem.write(to: &$0) }
    }

    public static func next(from reader: inout ByteReader) throws(WireError) -> (
        status: UInt16, body: UnsafeRawBufferPointer
    ) {
        (try reader.number(), try reader.long())
    }
}
