import Bytes
import Models

/// `senderCounts`: for the latest messages of a conversation, by sender, how many members have received and read them.
/// For conversations with too many members for status frames that name them.
///
/// Layout: conversation 16. Response: `SenderCounts`.
public struct SenderCountsQuery: WireCodable, Hashable {
    public var conversation: ConversationID

    public init(_ conversation: ConversationID) { self.conversation = conversation }

    public init(from reader: inout ByteReader) throws(WireError) { conversation = try reader.conversation() }

    public func write(to buffer: inout ByteBuffer) { buffer.append(conversation) }
}

/// The response to `senderCounts`. It borrows its bytes. Layout: status version 8 · at 8 · entries to the end: sender
/// name · length 4 · `[{seq, deliveredCount, readCount}…]`, ascending.
public struct SenderCounts {
    /// The counts are of this version or a later one.
    public var version: Int64
    public var at: Timestamp
    private var entries: ByteReader

    public init(from reader: inout ByteReader) throws(WireError) {
        version = try reader.position()
        at = try reader.time()
        entries = ByteReader(reader.readRest())
    }

    public func forEachSender(_ body: (UserID, UnsafeRawBufferPointer) -> Void) throws(WireError) {
        var reader = entries
        while !reader.isAtEnd { body(try reader.user(), try reader.long()) }
    }

    public static func writeHead(version: Int64, at: Timestamp, to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: version)
        buffer.append(at)
    }

    public static func writeEntry(
        _ sender: UserID, to buffer: inout ByteBuffer, json: (inout ByteBuffer) -> Void
    ) {
        buffer.append(sender)
        buffer.appendLong(json)
    }
}
