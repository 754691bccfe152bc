import Bytes
import Models

/// `expireMessages`: deletes messages of a conversation whose time is over, a bounded piece of them. It may be repeated at any
/// time. The owner of the conversation's slot sends it to itself.
///
/// A command. Layout: conversation 16.
/// Response: 200 when there may be more to do at once, 204 when nothing is due.
public struct ExpireMessages: WireCodable, Hashable {
    public var conversation: ConversationID

    public init(in conversation: ConversationID) { self.conversation = conversation }
    public init(from reader: inout ByteReader) throws(WireError) { conversation = try reader.conversation() }
    public func write(to buffer: inout ByteBuffer) { buffer.append(conversation) }
}
