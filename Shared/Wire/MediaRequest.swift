import Bytes
import Models

/// The kinds of requests to `media`. All are commands on the slot of the uploader, who is the sender of the messages, and
/// may be repeated at any time. Numbers are retired, never reused.
public enum MediaRequestKind: UInt8, CaseIterable, Sendable {
    case attach = 1
    case release = 2
    case erase = 3
    case copy = 4
}

/// A message and uploaded files: those that it is to carry, or carries no more.
///
/// Layout: message 16 · count 1 · count × media 16.
public struct MessageMedia: Hashable, Sendable {
    public var message: MessageID
    /// At most `ContractLimits.attachmentsPerMessage`, without repetitions.
    public var media: [MediaID]

    public init(_ message: MessageID, _ media: [MediaID]) {
        self.message = message
        self.media = media
    }
}

/// `attach`: before messages with attachments are sent, makes their files last at least 24 hours for them, and says what
/// the messages are to say of them. It does not matter whether the messages are sent then.
///
/// Layout: conversation 16 · uploader name · count 2 · count × `MessageMedia`.
/// Response: 200 with an `AttachmentList` for each message, in order, of the files in order; or a `Problem`.
public struct AttachMedia: WireCodable, Hashable {
    public var conversation: ConversationID
    public var uploader: UserID
    public var messages: [MessageMedia]

    public init(_ conversation: ConversationID, by uploader: UserID, _ messages: [MessageMedia]) {
        self.conversation = conversation
        self.uploader = uploader
        self.messages = messages
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        uploader = try reader.user()
        messages = []
        for _ in 0..<(try reader.number(UInt16.self)) { messages.append(try MessageMedia(from: &reader)) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(uploader)
        buffer.append(bigEndian: UInt16(messages.count))
        for message in messages { message.write(to: &buffer) }
    }
}

/// `copy`: before a message is forwarded, gives its sender copies of the files that another message carries, each with an id of
/// its own, and attaches them (see `AttachMedia`). A repetition has the same ids.
///
/// Layout: source's conversation 16 · source `MessageMedia` · conversation 16 · uploader name · message 16.
/// Response: 200 with the `AttachmentList` of the copies, in order; or a `Problem`.
public struct CopyMedia: WireCodable, Hashable {
    public var sourceConversation: ConversationID
    public var source: MessageMedia
    public var conversation: ConversationID
    public var uploader: UserID
    public var message: MessageID

    public init(
        _ source: MessageMedia, in sourceConversation: ConversationID, for message: MessageID,
        in conversation: ConversationID,
        by uploader: UserID
    ) {
        self.sourceConversation = sourceConversation
        self.source = source
        self.conversation = conversation
        self.uploader = uploader
        self.message = message
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        sourceConversation = try reader.conversation()
        source = try MessageMedia(from: &reader)
        conversation = try reader.conversation()
        uploader = try reader.user()
        message = try reader.message()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(sourceConversation)
        source.write(to: &buffer)
        buffer.append(conversation)
        buffer.append(uploader)
        buffer.append(message)
    }
}

/// `release`: a message has lost its attachments, for everybody and for ever.
///
/// Layout: conversation 16 · uploader name · `MessageMedia`. Response: 204.
public struct ReleaseMedia: WireCodable, Hashable {
    public var conversation: ConversationID
    public var uploader: UserID
    public var message: MessageMedia

    public init(_ conversation: ConversationID, by uploader: UserID, _ message: MessageMedia) {
        self.conversation = conversation
        self.uploader = uploader
        self.message = message
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        uploader = try reader.user()
        message = try MessageMedia(from: &reader)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(uploader)
        message.write(to: &buffer)
    }
}

/// `erase`: removes everything that a user has uploaded. The messages that carried it are erased already, and the user's
/// tokens are refused.
///
/// Layout: user name. Response: 202 when there is more, 204 when it is done.
public struct EraseMedia: WireCodable, Hashable {
    public var user: UserID

    public init(of user: UserID) { self.user = user }
    public init(from reader: inout ByteReader) throws(WireError) { user = try reader.user() }
    public func write(to buffer: inout ByteBuffer) { buffer.append(user) }
}

extension MessageMedia {
    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        message = try reader.message()
        let count: UInt8 = try reader.number()
        guard count <= ContractLimits.attachmentsPerMessage else {
            throw .unknownValue(field: "attachments", UInt64(count))
        }
        media = []
        for _ in 0..<count { media.append(try reader.media()) }
    }

    fileprivate func write(to buffer: inout ByteBuffer) {
        precondition(media.count <= ContractLimits.attachmentsPerMessage, "a message has a limit of attachments")
        buffer.append(message)
        buffer.append(UInt8(media.count))
        for id in media { buffer.append(id) }
    }
}
