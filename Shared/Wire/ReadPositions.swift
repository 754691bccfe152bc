import Bytes
import Models

/// `readMoved`: the read positions of users of one slot, sent by `receipt` for their other devices. Positions only move
/// forward, so repetitions and any order are harmless. Users whose lists do not have the conversation are ignored.
///
/// A command on the users' slot. Layout: count 2 × (user name · conversation 16 · read 8).
/// Response: 204 without a body once all of it is committed.
public struct ReadPositions: WireCodable, Hashable {
    /// The maximum number of entries in one request, as in a batch of the store.
    public static let limit = 1_000

    public struct Entry: Hashable, Sendable {
        public var user: UserID
        public var conversation: ConversationID
        public var readSeq: Int64

        public init(_ user: UserID, _ conversation: ConversationID, readSeq: Int64) {
            self.user = user
            self.conversation = conversation
            self.readSeq = readSeq
        }
    }

    public var entries: [Entry]

    public init(_ entries: [Entry]) {
        precondition(entries.count <= Self.limit, "a request holds \(Self.limit) positions")
        self.entries = entries
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        entries = []
        for _ in 0..<(try reader.number(UInt16.self)) { entries.append(try Entry(from: &reader)) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: UInt16(entries.count))
        for entry in entries { entry.write(to: &buffer) }
    }
}

extension ReadPositions.Entry: WireCodable {
    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        conversation = try reader.conversation()
        readSeq = try reader.position()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(conversation)
        buffer.append(bigEndian: readSeq)
    }
}
