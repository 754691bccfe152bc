import Bytes
import Models

/// `dropImport`: takes away a piece of an import that has not ended. It goes in two steps, between which its receipts go:
/// after the first one nothing more is imported, and after the last one the id is free.
///
/// Layout: conversation 16 · whether its receipts are gone 1.
/// Response: 202 when more is left, 204 when the conversation is gone, or a `Problem`.
public struct DropImport: WireCodable, Hashable {
    public var conversation: ConversationID
    /// False: it is only closed.
    public var receiptsAreGone: Bool

    public init(_ conversation: ConversationID, receiptsAreGone: Bool) {
        self.conversation = conversation
        self.receiptsAreGone = receiptsAreGone
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        receiptsAreGone = try reader.number(UInt8.self) != 0
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(receiptsAreGone ? 1 : 0 as UInt8)
    }
}
