import Bytes
import Models

/// `importReceipts` of receipt: receipts of one conversation's import, in order, behind the messages that they name.
///
/// Layout: conversation 16 · count 2 · count × receipt (see `ImportReceipt`).
/// Response: count × item (see `SendResponse`), without a body below status 400.
public struct ImportReceipts: WireCodable, Hashable {
    public var conversation: ConversationID
    public var receipts: [ImportReceipt]

    public init(_ conversation: ConversationID, _ receipts: [ImportReceipt]) {
        self.conversation = conversation
        self.receipts = receipts
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        receipts = []
        for _ in 0..<(try reader.number(UInt16.self)) { receipts.append(try ImportReceipt(from: &reader)) }
    }

    public func write(to buffer: inout ByteBuffer) {
        Self.writeHead(conversation, count: receipts.count, to: &buffer)
        for receipt in receipts { receipt.write(to: &buffer) }
    }

    /// Writes the head; the receipts follow with `ImportReceipt.write`.
    public static func writeHead(_ conversation: ConversationID, count: Int, to buffer: inout ByteBuffer) {
        ImportRecords.writeHead(conversation, count: count, to: &buffer)
    }
}

/// A user has received, or read, a message and all before it since a time.
///
/// Layout: kind 1 · user name · message 16 · at 8.
public struct ImportReceipt: WireCodable, Hashable {
    /// Numbers are retired, never reused.
    public enum Kind: UInt8, Sendable {
        case delivered = 1
        case read = 2
    }

    public var kind: Kind
    public var user: UserID
    public var through: MessageID
    public var at: Timestamp

    public init(_ kind: Kind, by user: UserID, through message: MessageID, at: Timestamp) {
        self.kind = kind
        self.user = user
        through = message
        self.at = at
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let number: UInt8 = try reader.number()
        guard let kind = Kind(rawValue: number) else { throw .unknownValue(field: "receipt", UInt64(number)) }
        self.kind = kind
        user = try reader.user()
        through = try reader.message()
        at = try reader.time()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(kind.rawValue)
        buffer.append(user)
        buffer.append(through)
        buffer.append(at)
    }
}

/// `dropReceipts` of receipt: takes away a piece of the receipts of an import that is being dropped.
///
/// Layout: conversation 16. Response: 202 when more is left, 204 when none is, or a `Problem`.
public struct DropReceipts: WireCodable, Hashable {
    public var conversation: ConversationID

    public init(_ conversation: ConversationID) { self.conversation = conversation }

    public init(from reader: inout ByteReader) throws(WireError) { conversation = try reader.conversation() }

    public func write(to buffer: inout ByteBuffer) { buffer.append(conversation) }
}
