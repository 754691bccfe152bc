import Bytes
import Models

/// `writtenMessages`: which messages of a user are stored already, so that what was stored before is not refused when it comes
/// again.
///
/// Layout: conversation 16 · sender name · count 2 · count × (message 16 · text length 4, UTF-8; empty: whatever it says).
/// Response: 200 with whether the sender is or was in the conversation 1 · count × 1: whether there is a message with this id,
/// and, if a text is given, it is the sender's and says that now.
public struct WrittenMessages: WireCodable, Hashable {
    public struct Message: Hashable, Sendable {
        public var id: MessageID
        public var text: String

        public init(_ id: MessageID, text: String = "") {
            self.id = id
            self.text = text
        }
    }

    public var conversation: ConversationID
    public var sender: UserID
    public var messages: [Message]

    public init(_ messages: [Message], in conversation: ConversationID, by sender: UserID) {
        self.messages = messages
        self.conversation = conversation
        self.sender = sender
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        sender = try reader.user()
        messages = []
        for _ in 0..<(try reader.number(UInt16.self)) {
            messages.append(Message(try reader.message(), text: String(decoding: try reader.long(), as: UTF8.self)))
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(sender)
        buffer.append(bigEndian: UInt16(messages.count))
        for message in messages {
            buffer.append(message.id)
            buffer.appendLong { $0.append(utf8: message.text) }
        }
    }

    /// The response.
    public struct Answer: WireCodable, Hashable {
        public var isInConversation: Bool
        public var areWritten: [Bool]

        public init(isInConversation: Bool, areWritten: [Bool]) {
            self.isInConversation = isInConversation
            self.areWritten = areWritten
        }

        public init(from reader: inout ByteReader) throws(WireError) {
            isInConversation = try reader.number(UInt8.self) == 1
            areWritten = reader.readRest().map { $0 == 1 }
        }

        public func write(to buffer: inout ByteBuffer) {
            buffer.append(UInt8(isInConversation ? 1 : 0))
            for isWritten in areWritten { buffer.append(UInt8(isWritten ? 1 : 0)) }
        }
    }
}
