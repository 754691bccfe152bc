import Bytes
import Models

/// `dropImport`: takes away a piece of an import that has not ended.
///
/// Layout: conversation 16.
/// Response: 202 when more is left, 204 when the conversation is gone, or a `Problem`.
public struct DropImport: WireCodable, Hashable {
    public var conversation: ConversationID

    public init(_ conversation: ConversationID) { self.conversation = conversation }

    public init(from reader: inout ByteReader) throws(WireError) { conversation = try reader.conversation() }

    public func write(to buffer: inout ByteBuffer) { buffer.append(conversation) }
}
