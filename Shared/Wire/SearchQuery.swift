import Bytes
import JSON
import Models

/// `search`: the messages that contain all words of a query, newest first.
///
/// Layout: reader name · conversation 16 (zero: all of the reader's) · has cursor 1 · cursor (see `SearchCursor`) · limit 2 ·
/// text length 2, UTF-8.
public struct SearchQuery: WireCodable, Hashable {
    public var reader: UserID
    public var conversation: ConversationID?
    public var before: SearchCursor?
    public var limit: UInt16
    public var text: String

    public init(
        reader: UserID, conversation: ConversationID?, before: SearchCursor?, limit: UInt16, text: String
    ) {
        self.reader = reader
        self.conversation = conversation
        self.before = before
        self.limit = limit
        self.text = text
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        reader = try bytes.user()
        let uuid = try bytes.uuid()
        conversation = uuid == .zero ? nil : ConversationID(uuid)
        before = try bytes.number(UInt8.self) == 1 ? try SearchCursor(from: &bytes) : nil
        limit = try bytes.number()
        text = String(decoding: try bytes.bytes(Int(try bytes.number(UInt16.self))), as: UTF8.self)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(reader)
        buffer.append(bigEndian: conversation?.uuid ?? .zero)
        buffer.append(before == nil ? 0 : 1 as UInt8)
        before?.write(to: &buffer)
        buffer.append(bigEndian: limit)
        buffer.append(bigEndian: UInt16(text.utf8.count))
        buffer.append(utf8: text)
    }

    /// The slot whose owner responds: the conversation's, or the reader's.
    public var slot: Slot { conversation?.slot ?? reader.slot }
}

/// A position in the results of a search, which are ordered by creation, conversation and position, all descending.
///
/// Layout: created at 8 (ms) · conversation 16 · seq 8 · whether the search is for parts of words 1. Clients get its
/// text as an opaque string: the same fields, separated by `_`.
public struct SearchCursor: WireCodable, Hashable {
    public var at: Timestamp
    public var conversation: ConversationID
    public var seq: Int64
    public var isForParts: Bool

    public init(at: Timestamp, conversation: ConversationID, seq: Int64, isForParts: Bool) {
        self.at = at
        self.conversation = conversation
        self.seq = seq
        self.isForParts = isForParts
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        at = try bytes.time()
        conversation = try bytes.conversation()
        seq = try bytes.position()
        isForParts = try bytes.number(UInt8.self) == 1
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(at)
        buffer.append(conversation)
        buffer.append(bigEndian: seq)
        buffer.append(isForParts ? 1 : 0 as UInt8)
    }

    public init?(text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let milliseconds = Int64(parts[0]), let uuid = UUIDBytes(parts[1]),
            let seq = Int64(parts[2]), ["w", "p"].contains(parts[3]),
            (1...JSONReader.maximumPosition).contains(seq),
            (0...ActivityCursor.start.lastActivityAt.milliseconds).contains(milliseconds)
        else { return nil }
        self.init(
            at: Timestamp(milliseconds: milliseconds), conversation: ConversationID(uuid), seq: seq,
            isForParts: parts[3] == "p")
        // Other notations of the same numbers are refused.
        guard text == self.text else { return nil }
    }

    public var text: String { "\(at.milliseconds)_\(conversation)_\(seq)_\(isForParts ? "p" : "w")" }
}
