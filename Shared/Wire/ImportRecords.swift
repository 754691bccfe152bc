import Bytes
import Models

/// `importRecords`: records of one conversation's import, in order.
///
/// Layout: conversation 16 · count 2 · count × record (see `ImportRecord`).
/// Response: count × item (see `SendResponse`), without a body below status 400.
public struct ImportRecords {
    public var conversation: ConversationID
    public var count: Int
    private var records: ByteReader

    /// Reads the head; `forEachRecord` reads the records without copies of texts. Valid as long as the bytes.
    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        count = Int(try reader.number(UInt16.self))
        records = ByteReader(reader.readRest())
    }

    public func forEachRecord(_ body: (ImportRecord) -> Void) throws(WireError) {
        var reader = records
        for _ in 0..<count { body(try ImportRecord(from: &reader)) }
    }

    /// Writes the head; the records follow with `ImportRecord.write`.
    public static func writeHead(_ conversation: ConversationID, count: Int, to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(bigEndian: UInt16(count))
    }
}

/// A record of an import: what happened in a conversation, at its own time. Texts borrow their bytes from the frame or
/// the client's request.
///
/// Layout: kind 1 · the kind's fields. Numbers are retired, never reused.
public enum ImportRecord {
    case conversation(Conversation)
    case message(Message)
    case tapback(Tapback)
    case vote(Vote)
    case pollClosed(PollClosing)
    case member(MemberChange)
    case title(Title)
    /// No fields. The conversation becomes its members'.
    case end

    /// Layout: kind 1 · created at 8 · title length 2, UTF-8 (empty: none) · members 2 × name.
    public struct Conversation: Sendable {
        public var kind: ConversationKind
        public var createdAt: Timestamp
        public var title: String
        /// The creator first, without repetitions.
        public var members: [UserID]

        public init(kind: ConversationKind, createdAt: Timestamp, title: String, members: [UserID]) {
            self.kind = kind
            self.createdAt = createdAt
            self.title = title
            self.members = members
        }
    }

    /// Layout: message 16 · sender name · reply to 16 (zero: none) · created at 8 · is deleted 1, deleted at 8 ·
    /// texts 2 × (at 8 · text long) · of kinds 7 to 11: attachments long · of kinds 8 to 11: extra long · of kind 10: origin
    /// name · sent at 8 · of kind 11: `NewPoll`. One of kind 9 is sealed.
    public struct Message {
        public struct Text {
            public var text: UnsafeRawBufferPointer
            public var at: Timestamp

            public init(_ text: UnsafeRawBufferPointer, at: Timestamp) {
                self.text = text
                self.at = at
            }
        }

        public var id: MessageID
        public var sender: UserID
        public var replyTo: MessageID?
        public var createdAt: Timestamp
        public var deletedAt: Timestamp?
        /// The original, at `createdAt`, and those that edits replaced it with, in order; none of a deleted message. Of
        /// a message without text beside its attachments, the original is empty.
        public var texts: [Text]
        /// A JSON array of descriptors, as the message has it; empty for none.
        public var attachments: UnsafeRawBufferPointer
        /// The application's own JSON object; empty for none.
        public var extra: UnsafeRawBufferPointer
        /// Whether its texts are what was sealed, in base64.
        public var isSealed: Bool
        /// Who wrote it, of a forwarded message that shows it.
        public var forwarded: Forwarded?
        /// Of a poll, of which the text is the question.
        public var poll: NewPoll?

        public init(
            id: MessageID, sender: UserID, replyTo: MessageID?, createdAt: Timestamp, deletedAt: Timestamp?,
            texts: [Text], attachments: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
            extra: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), isSealed: Bool = false,
            forwarded: Forwarded? = nil, poll: NewPoll? = nil
        ) {
            self.id = id
            self.sender = sender
            self.replyTo = replyTo
            self.createdAt = createdAt
            self.deletedAt = deletedAt
            self.texts = texts
            self.attachments = attachments
            self.extra = extra
            self.isSealed = isSealed
            self.forwarded = forwarded
            self.poll = poll
        }
    }

    /// Layout: message 16 · user name · kind name · at 8.
    public struct Tapback {
        public var message: MessageID
        public var user: UserID
        public var kind: String
        public var at: Timestamp

        public init(message: MessageID, user: UserID, kind: String, at: Timestamp) {
            self.message = message
            self.user = user
            self.kind = kind
            self.at = at
        }
    }

    /// Layout: message 16 · user name · options 2 · at 8.
    public struct Vote {
        public var message: MessageID
        public var user: UserID
        /// One at least.
        public var options: PollOptions
        public var at: Timestamp

        public init(message: MessageID, user: UserID, options: PollOptions, at: Timestamp) {
            self.message = message
            self.user = user
            self.options = options
            self.at = at
        }
    }

    /// Layout: message 16 · at 8 · actor name (empty: not known).
    public struct PollClosing {
        public var message: MessageID
        public var at: Timestamp
        public var actor: UserID?

        public init(of message: MessageID, at: Timestamp, by actor: UserID?) {
            self.message = message
            self.at = at
            self.actor = actor
        }
    }

    /// Layout: change 1 (`ChangeKind`) · user name · at 8 · actor name (empty: not known).
    public struct MemberChange {
        /// `memberAdded`, `memberRemoved`, or `memberChanged`: the member gets the other role.
        public var kind: ChangeKind
        public var user: UserID
        public var at: Timestamp
        public var actor: UserID?

        public init(_ kind: ChangeKind, of user: UserID, at: Timestamp, by actor: UserID?) {
            self.kind = kind
            self.user = user
            self.at = at
            self.actor = actor
        }
    }

    /// Layout: at 8 · actor name (empty: not known) · title length 2, UTF-8.
    public struct Title {
        public var title: String
        public var at: Timestamp
        public var actor: UserID?

        public init(_ title: String, at: Timestamp, by actor: UserID?) {
            self.title = title
            self.at = at
            self.actor = actor
        }
    }
}

extension ImportRecord {
    fileprivate enum Kind: UInt8 {
        case conversation = 1
        case message = 2
        case tapback = 3
        case member = 4
        case title = 5
        case end = 6
        case messageWithAttachments = 7
        case messageWithExtra = 8
        case sealedMessage = 9
        case forwardedMessage = 10
        case poll = 11
        case vote = 12
        case pollClosed = 13

        /// Whether a message of this kind has the application's fields, which may be none.
        var hasExtra: Bool {
            switch self {
            case .messageWithExtra, .sealedMessage, .forwardedMessage, .poll: true
            default: false
            }
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let number: UInt8 = try reader.number()
        guard let kind = Kind(rawValue: number) else { throw .unknownValue(field: "record kind", UInt64(number)) }
        self =
            switch kind {
            case .conversation: .conversation(try Conversation(from: &reader))
            case .message, .messageWithAttachments, .messageWithExtra, .sealedMessage, .forwardedMessage, .poll:
                .message(try Message(kind, from: &reader))
            case .tapback: .tapback(try Tapback(from: &reader))
            case .vote: .vote(try Vote(from: &reader))
            case .pollClosed: .pollClosed(try PollClosing(from: &reader))
            case .member: .member(try MemberChange(from: &reader))
            case .title: .title(try Title(from: &reader))
            case .end: .end
            }
    }

    public func write(to buffer: inout ByteBuffer) {
        switch self {
        case .conversation(let conversation): conversation.write(.conversation, to: &buffer)
        case .message(let message): message.write(to: &buffer)
        case .tapback(let tapback): tapback.write(.tapback, to: &buffer)
        case .vote(let vote): vote.write(.vote, to: &buffer)
        case .pollClosed(let closing): closing.write(.pollClosed, to: &buffer)
        case .member(let change): change.write(.member, to: &buffer)
        case .title(let title): title.write(.title, to: &buffer)
        case .end: buffer.append(Kind.end.rawValue)
        }
    }
}

extension ImportRecord.Conversation {
    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        let number: UInt8 = try reader.number()
        guard let kind = ConversationKind(rawValue: number) else {
            throw .unknownValue(field: "conversation kind", UInt64(number))
        }
        self.kind = kind
        createdAt = try reader.time()
        title = try reader.title()
        members = []
        for _ in 0..<(try reader.number(UInt16.self)) { members.append(try reader.user()) }
    }

    fileprivate func write(_ number: ImportRecord.Kind, to buffer: inout ByteBuffer) {
        buffer.append(number.rawValue)
        buffer.append(kind.rawValue)
        buffer.append(createdAt)
        buffer.append(title: title)
        buffer.append(bigEndian: UInt16(members.count))
        for member in members { buffer.append(member) }
    }
}

extension ImportRecord.Message {
    fileprivate init(_ kind: ImportRecord.Kind, from reader: inout ByteReader) throws(WireError) {
        id = try reader.message()
        sender = try reader.user()
        replyTo = try reader.optionalMessage()
        createdAt = try reader.time()
        let isDeleted: UInt8 = try reader.number(), time = try reader.time()
        deletedAt = isDeleted == 0 ? nil : time
        texts = []
        for _ in 0..<(try reader.number(UInt16.self)) {
            let at = try reader.time()
            texts.append(Text(try reader.long(), at: at))
        }
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        attachments = kind == .message ? nothing : try reader.long()
        isSealed = kind == .sealedMessage
        extra = kind.hasExtra ? try reader.long() : nothing
        forwarded =
            kind == .forwardedMessage ? Forwarded(userId: try reader.user(), sentAt: try reader.time()) : nil
        poll = kind == .poll ? try NewPoll.optional(from: &reader) : nil
        guard texts.isEmpty == (deletedAt != nil) else { throw .unknownValue(field: "texts", UInt64(texts.count)) }
        guard (kind == .poll) == (poll != nil), poll == nil || deletedAt == nil else {
            throw .unknownValue(field: "poll", UInt64(kind.rawValue))
        }
    }

    fileprivate func write(to buffer: inout ByteBuffer) {
        buffer.append(kind.rawValue)
        buffer.append(id)
        buffer.append(sender)
        buffer.append(replyTo)
        buffer.append(createdAt)
        buffer.append(deletedAt == nil ? 0 : 1 as UInt8)
        buffer.append(deletedAt ?? Timestamp(milliseconds: 0))
        buffer.append(bigEndian: UInt16(texts.count))
        for text in texts {
            buffer.append(text.at)
            buffer.append(long: text.text)
        }
        if kind != .message { buffer.append(long: attachments) }
        if kind.hasExtra { buffer.append(long: extra) }
        if let forwarded {
            buffer.append(forwarded.userId)
            buffer.append(forwarded.sentAt)
        }
        if let poll { NewPoll.write(poll, to: &buffer) }
    }

    private var kind: ImportRecord.Kind {
        if poll != nil { return .poll }
        if forwarded != nil { return .forwardedMessage }
        if isSealed { return .sealedMessage }
        if !extra.isEmpty { return .messageWithExtra }
        return attachments.isEmpty ? .message : .messageWithAttachments
    }
}

extension ImportRecord.Tapback {
    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        message = try reader.message()
        user = try reader.user()
        kind = String(decoding: try reader.name(), as: UTF8.self)
        at = try reader.time()
    }

    fileprivate func write(_ number: ImportRecord.Kind, to buffer: inout ByteBuffer) {
        buffer.append(number.rawValue)
        buffer.append(message)
        buffer.append(user)
        buffer.append(name: kind)
        buffer.append(at)
    }
}

extension ImportRecord.Vote {
    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        message = try reader.message()
        user = try reader.user()
        options = PollOptions(bits: try reader.number())
        at = try reader.time()
        guard options.bits > 0 else { throw .unknownValue(field: "options", 0) }
    }

    fileprivate func write(_ number: ImportRecord.Kind, to buffer: inout ByteBuffer) {
        buffer.append(number.rawValue)
        buffer.append(message)
        buffer.append(user)
        buffer.append(bigEndian: options.bits)
        buffer.append(at)
    }
}

extension ImportRecord.PollClosing {
    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        message = try reader.message()
        at = try reader.time()
        actor = try reader.optionalUser()
    }

    fileprivate func write(_ number: ImportRecord.Kind, to buffer: inout ByteBuffer) {
        buffer.append(number.rawValue)
        buffer.append(message)
        buffer.append(at)
        buffer.append(name: actor?.name ?? "")
    }
}

extension ImportRecord.MemberChange {
    private static let kinds: Set<ChangeKind> = [.memberAdded, .memberRemoved, .memberChanged]

    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        let number: UInt8 = try reader.number()
        guard let kind = ChangeKind(rawValue: number), Self.kinds.contains(kind) else {
            throw .unknownValue(field: "change of members", UInt64(number))
        }
        self.kind = kind
        user = try reader.user()
        at = try reader.time()
        actor = try reader.optionalUser()
    }

    fileprivate func write(_ number: ImportRecord.Kind, to buffer: inout ByteBuffer) {
        buffer.append(number.rawValue)
        buffer.append(kind.rawValue)
        buffer.append(user)
        buffer.append(at)
        buffer.append(name: actor?.name ?? "")
    }
}

extension ImportRecord.Title {
    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        at = try reader.time()
        actor = try reader.optionalUser()
        title = try reader.title()
    }

    fileprivate func write(_ number: ImportRecord.Kind, to buffer: inout ByteBuffer) {
        buffer.append(number.rawValue)
        buffer.append(at)
        buffer.append(name: actor?.name ?? "")
        buffer.append(title: title)
    }
}

extension ByteReader {
    fileprivate mutating func title() throws(WireError) -> String {
        String(decoding: try bytes(Int(try number(UInt16.self))), as: UTF8.self)
    }
}

extension ByteBuffer {
    fileprivate mutating func append(title: String) {
        append(bigEndian: UInt16(title.utf8.count))
        append(utf8: title)
    }
}

extension ImportRecord {
    /// Nil for an `end`, which is after everything.
    public var time: Timestamp? {
        switch self {
        case .conversation(let record): record.createdAt
        case .message(let record): record.createdAt
        case .tapback(let record): record.at
        case .vote(let record): record.at
        case .pollClosed(let record): record.at
        case .member(let record): record.at
        case .title(let record): record.at
        case .end: nil
        }
    }
}

// MARK: Refusals of the store and of the receipt service

extension Problem {
    public static let noImport = Problem(.notFound, "conversationId: no import of this conversation was opened")
}
