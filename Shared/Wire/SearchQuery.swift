import Bytes
import JSON
import Models

/// `search`: messages that have all words of a query, newest first.
///
/// Layout: reader name · conversation 16 (zero: all of the reader's) · has cursor 1 · cursor (see `SearchCursor`) · limit 2 ·
/// text length 2, UTF-8.
package struct SearchQuery: WireCodable, Hashable {
    package var reader: UserID
    package var conversation: ConversationID?
    package var before: SearchCursor?
    package var limit: UInt16
    package var text: String

    package init(
        reader: UserID, conversation: ConversationID?, before: SearchCursor?, limit: UInt16, text: String
    ) {
        self.reader = reader
        self.conversation = conversation
        self.before = before
        self.limit = limit
        self.text = text
    }

    package init(from bytes: inout ByteReader) throws(WireError) {
        reader = try bytes.user()
        let uuid = try bytes.uuid()
        conversation = uuid == .zero ? nil : ConversationID(uuid)
        before = try bytes.number(UInt8.self) == 1 ? try SearchCursor(from: &bytes) : nil
        limit = try bytes.number()
        text = String(decoding: try bytes.bytes(Int(try bytes.number(UInt16.self))), as: UTF8.self)
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.append(reader)
        buffer.append(bigEndian: conversation?.uuid ?? .zero)
        buffer.append(before == nil ? 0 : 1 as UInt8)
        before?.write(to: &buffer)
        buffer.append(bigEndian: limit)
        buffer.append(bigEndian: UInt16(text.utf8.count))
        buffer.append(utf8: text)
    }

    /// Who answers: the owner of the conversation, or of the reader.
    package var slot: Slot { conversation?.slot ?? reader.slot }
}

/// A place among the results of a search, ordered by creation, conversation and position; all descending.
///
/// Layout: created at 8 (ms) · conversation 16 · seq 8 · whether parts of words were looked for 1. Clients see its text as
/// an opaque string: the same fields with `_` between them.
package struct SearchCursor: WireCodable, Hashable {
    package var at: Timestamp
    package var conversation: ConversationID
    package var seq: Int64
    package var isForParts: Bool

    package init(at: Timestamp, conversation: ConversationID, seq: Int64, isForParts: Bool) {
        self.at = at
        self.conversation = conversation
        self.seq = seq
        self.isForParts = isForParts
    }

    package init(from bytes: inout ByteReader) throws(WireError) {
        at = try bytes.time()
        conversation = try bytes.conversation()
        seq = try bytes.position()
        isForParts = try bytes.number(UInt8.self) == 1
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.append(at)
        buffer.append(conversation)
        buffer.append(bigEndian: seq)
        buffer.append(isForParts ? 1 : 0 as UInt8)
    }

    package init?(text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let milliseconds = Int64(parts[0]), let uuid = UUIDBytes(parts[1]),
            let seq = Int64(parts[2]), ["w", "p"].contains(parts[3]),
            (1...JSONReader.maximumPosition).contains(seq),
            (0...ActivityCursor.start.lastActivityAt.milliseconds).contains(milliseconds)
        else { return nil }
        self.init(
            at: Timestamp(milliseconds: milliseconds), conversation: ConversationID(uuid), seq: seq,
            isForParts: parts[3] == "p")
        // Numbers can be written in other ways than ours.
        guard text == self.text else { return nil }
    }

    package var text: String { "\(at.milliseconds)_\(conversation)_\(seq)_\(isForParts ? "p" : "w")" }
}
