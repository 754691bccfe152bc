import Bytes
import Models

/// `trimHistory`: removes messages of a conversation that are kept no longer, a bounded piece of them. It may be repeated at any
/// time. The owner of the conversation's slot sends it to itself.
///
/// A command. Layout: conversation 16 · days that messages stay in all conversations 4 (0: without an end).
/// Response: 200 when there may be more to do at once, 204 when nothing is due.
public struct TrimHistory: WireCodable, Hashable {
    public var conversation: ConversationID
    public var days: Int32?

    public init(in conversation: ConversationID, days: Int32?) {
        self.conversation = conversation
        self.days = days
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        days = try reader.days()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(days: days)
    }
}

extension ByteReader {
    /// How many days something stays; zero: nil.
    mutating func days() throws(WireError) -> Int32? {
        let days: UInt32 = try number()
        return days == 0 ? nil : Int32(clamping: days)
    }
}

extension ByteBuffer {
    mutating func append(days: Int32?) { append(bigEndian: UInt32(clamping: days ?? 0)) }
}
