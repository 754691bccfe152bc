import Bytes
import Models

/// What is to be sent at a time: the fields of `Write.Action.schedule`.
///
/// Layout: message 16 · at 8 (ms; 0: now) · reply to 16 (zero: none) · mentions length 4, as in `NewMessage` · extra length 4, a JSON
/// object (empty: none) · text to the end.
public struct NewScheduled: WireCodable, Hashable {
    public var id: MessageID
    public var at: Timestamp
    public var replyTo: MessageID?
    public var mentions: String
    public var extra: String
    public var text: String

    public init(
        _ id: MessageID, at: Timestamp, replyTo: MessageID? = nil, mentions: String = "", extra: String = "",
        text: String
    ) {
        self.id = id
        self.at = at
        self.replyTo = replyTo
        self.mentions = mentions
        self.extra = extra
        self.text = text
    }

    /// Whether it is to be sent at once.
    public var isForNow: Bool { at.milliseconds == 0 }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.message()
        at = try reader.time()
        replyTo = try reader.optionalMessage()
        mentions = String(decoding: try reader.long(), as: UTF8.self)
        extra = String(decoding: try reader.long(), as: UTF8.self)
        text = String(decoding: reader.readRest(), as: UTF8.self)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(id)
        buffer.append(at)
        buffer.append(replyTo)
        buffer.appendLong { $0.append(utf8: mentions) }
        buffer.appendLong { $0.append(utf8: extra) }
        buffer.append(utf8: text)
    }
}

/// `sendScheduled`: sends the first message of a user in a conversation whose time has come, if there is one. Each repetition sends
/// another one at most, so it may be repeated at any time. A store sends it to the owner of the conversation's slot.
///
/// A command. Layout: conversation 16 · user name · 1: what carries attachments may be replied to.
/// Response: 200 when one was due, so there may be more; 204 when none was.
public struct SendScheduled: WireCodable, Hashable {
    public var conversation: ConversationID
    public var user: UserID
    public var answersAttachments: Bool

    public init(of user: UserID, in conversation: ConversationID, answersAttachments: Bool = false) {
        self.conversation = conversation
        self.user = user
        self.answersAttachments = answersAttachments
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        user = try reader.user()
        answersAttachments = try reader.number(UInt8.self) == 1
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(user)
        buffer.append(answersAttachments ? 1 : 0 as UInt8)
    }
}

/// `scheduled`: what a user has scheduled, in the order in which it was told of. A query on the user's slot.
///
/// Layout: user name · conversation 16 (zero: all) · after 8 · limit 2.
public struct ScheduledQuery: WireCodable, Hashable {
    public var user: UserID
    public var conversation: ConversationID?
    public var after: Int64
    public var limit: UInt16

    public init(_ user: UserID, in conversation: ConversationID?, after: Int64, limit: UInt16) {
        self.user = user
        self.conversation = conversation
        self.after = after
        self.limit = limit
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        let uuid = try reader.uuid()
        conversation = uuid == .zero ? nil : ConversationID(uuid)
        after = try reader.position()
        limit = try reader.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(bigEndian: conversation?.uuid ?? .zero)
        buffer.append(bigEndian: after)
        buffer.append(bigEndian: limit)
    }
}
