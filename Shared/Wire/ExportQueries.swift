import Bytes
import Models

// The queries of an export, which ingest makes one after the other. Nothing is kept between them, so any owner of the slot
// may answer the next one.

/// `exportedConversations`: the conversations in which a user has left something, in the order of their ids.
///
/// Layout: user name · after 16 (zero: from the start).
/// Response: ids, 16 each; none: there are no more.
public struct ExportedConversations: WireCodable, Hashable {
    public var user: UserID
    public var after: ConversationID

    public init(of user: UserID, after: ConversationID) {
        self.user = user
        self.after = after
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        after = try reader.conversation()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(after)
    }
}

/// `exportHead`: how a conversation began, and what a reader may see of it.
///
/// Layout: conversation 16 · reader name (empty: whoever may see everything).
/// Response: `ExportHead`.
public struct ExportHeadQuery: WireCodable, Hashable {
    public var conversation: ConversationID
    public var reader: UserID?

    public init(_ conversation: ConversationID, reader: UserID?) {
        self.conversation = conversation
        self.reader = reader
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        conversation = try bytes.conversation()
        reader = try bytes.optionalUser()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(name: reader?.name ?? "")
    }
}

/// Layout: last position 8 · opening (see `ImportRecord.Conversation`, with its kind 1 before it) · stays 2 × (first
/// position 8 · last position 8, the highest possible one while it lasts).
public struct ExportHead: WireCodable {
    public var lastSeq: Int64
    /// With the first members, the creator first.
    public var opening: ImportRecord.Conversation
    /// The reader's, in order.
    public var stays: [ClosedRange<Int64>]

    public init(lastSeq: Int64, opening: ImportRecord.Conversation, stays: [ClosedRange<Int64>]) {
        self.lastSeq = lastSeq
        self.opening = opening
        self.stays = stays
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        lastSeq = try reader.position()
        guard case .conversation(let opening) = try ImportRecord(from: &reader) else {
            throw .unknownValue(field: "opening", 0)
        }
        self.opening = opening
        stays = []
        for _ in 0..<(try reader.number(UInt16.self)) {
            let first = try reader.position(), last: Int64 = try reader.number()
            guard first <= last else { throw .unknownValue(field: "stay", UInt64(first)) }
            stays.append(first...last)
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: lastSeq)
        ImportRecord.conversation(opening).write(to: &buffer)
        buffer.append(bigEndian: UInt16(stays.count))
        for stay in stays {
            buffer.append(bigEndian: stay.lowerBound)
            buffer.append(bigEndian: stay.upperBound)
        }
    }
}

/// `exportPage`: records after a position, of a state of the conversation.
///
/// The state is that of a position. Of messages only the present is stored, so a message that has changed since then
/// moves the state to a later position, if nothing exported before it has changed by then. If that cannot be, the
/// response is 409 `conflict`: what is exported and what is not are of no one state any more.
///
/// Layout: conversation 16 · reader name (empty: whoever may see everything) · part 1 · after 8 · through 8 · state 8.
/// Response: `ExportPage`.
public struct ExportPageQuery: WireCodable, Hashable {
    public enum Part: UInt8, Sendable {
        case everything = 0
        /// Changes of members and titles: what went on while the reader was away.
        case changes = 1
        /// Tapbacks to what the reader sees, and votes.
        case tapbacks = 2
    }

    public var conversation: ConversationID
    public var reader: UserID?
    public var part: Part
    public var after: Int64
    public var through: Int64
    public var state: Int64

    public init(
        _ conversation: ConversationID, reader: UserID?, _ part: Part, after: Int64, through: Int64, state: Int64
    ) {
        self.conversation = conversation
        self.reader = reader
        self.part = part
        self.after = after
        self.through = through
        self.state = state
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        conversation = try bytes.conversation()
        reader = try bytes.optionalUser()
        let number: UInt8 = try bytes.number()
        guard let part = Part(rawValue: number) else { throw .unknownValue(field: "part", UInt64(number)) }
        self.part = part
        after = try bytes.position()
        through = try bytes.position()
        state = try bytes.position()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(name: reader?.name ?? "")
        buffer.append(part.rawValue)
        buffer.append(bigEndian: after)
        buffer.append(bigEndian: through)
        buffer.append(bigEndian: state)
    }
}

/// Layout: state 8 · covered 8 · stays 8 · end of view 8 · records × (position 8 · see `ImportRecord`).
public struct ExportPage {
    /// The position whose state the export shows from here on.
    public var state: Int64
    /// The next page begins after this position.
    public var covered: Int64
    /// How many stays the reader has, and where the last one ends: if either changes, so does what the reader may see.
    public var stayCount: Int64
    public var viewEnd: Int64
    private var records: ByteReader

    /// Valid as long as the bytes.
    public init(from reader: inout ByteReader) throws(WireError) {
        state = try reader.position()
        covered = try reader.position()
        stayCount = try reader.position()
        viewEnd = try reader.number()
        records = ByteReader(reader.readRest())
    }

    public func forEachRecord(_ body: (Int64, ImportRecord) -> Void) throws(WireError) {
        var reader = records
        while reader.remaining > 0 {
            let seq = try reader.position()
            body(seq, try ImportRecord(from: &reader))
        }
    }

    /// Writes the head; the records follow with `append`.
    public static func writeHead(
        state: Int64, covered: Int64, stayCount: Int64, viewEnd: Int64, to buffer: inout ByteBuffer
    ) {
        buffer.append(bigEndian: state)
        buffer.append(bigEndian: covered)
        buffer.append(bigEndian: stayCount)
        buffer.append(bigEndian: viewEnd)
    }

    public static func append(_ record: ImportRecord, at seq: Int64, to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: seq)
        record.write(to: &buffer)
    }
}

/// `exportReceipts`: receipts behind a place, by user and time.
///
/// Layout: conversation 16 · reader name (empty: everybody's) · state 8 · the place (see `Place`; without a name: from the
/// start).
/// Response: `ExportedReceipt`s; none: there are no more.
public struct ExportReceiptsQuery: WireCodable, Hashable {
    /// How far a user's runs of each kind were told. Those of a kind are in the order of their positions and of their times,
    /// so a page begins in the middle of each, and reads nothing before it.
    ///
    /// Layout: user name · position of each kind 3 × 8, zero: none yet.
    public struct Place: Hashable, Sendable {
        public var user: UserID
        public private(set) var positions = [Int64](repeating: 0, count: ExportedReceipt.Run.allCases.count)

        public init(user: UserID) { self.user = user }

        public subscript(run: ExportedReceipt.Run) -> Int64 { positions[Int(run.rawValue) - 1] }

        /// The place behind a receipt.
        public mutating func move(past receipt: ExportedReceipt) {
            if receipt.user != user { self = Place(user: receipt.user) }
            positions[Int(receipt.run.rawValue) - 1] = receipt.seq
        }

        fileprivate init(of user: UserID, from reader: inout ByteReader) throws(WireError) {
            self.user = user
            for index in positions.indices { positions[index] = try reader.position() }
        }

        fileprivate func write(to buffer: inout ByteBuffer) {
            buffer.append(user)
            for position in positions { buffer.append(bigEndian: position) }
        }
    }

    public var conversation: ConversationID
    public var reader: UserID?
    public var state: Int64
    public var after: Place?

    public init(_ conversation: ConversationID, reader: UserID?, state: Int64, after: Place?) {
        self.conversation = conversation
        self.reader = reader
        self.state = state
        self.after = after
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        conversation = try bytes.conversation()
        reader = try bytes.optionalUser()
        state = try bytes.position()
        after = nil
        if let user = try bytes.optionalUser() { after = try Place(of: user, from: &bytes) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(name: reader?.name ?? "")
        buffer.append(bigEndian: state)
        if let after { after.write(to: &buffer) } else { buffer.append(name: "") }
    }
}

/// An advance of a user.
///
/// Layout: user name · run 1 · position 8 · message 16, zero: none · at 8.
public struct ExportedReceipt: WireCodable, Hashable {
    /// As runs are stored: `RunKind`.
    public enum Run: UInt8, CaseIterable, Sendable {
        case delivered = 1
        case read, both

        /// Who reads has received.
        public var kind: ImportReceipt.Kind { self == .delivered ? .delivered : .read }
    }

    public var user: UserID
    public var run: Run
    public var seq: Int64
    /// The last message that the advance passed.
    public var message: MessageID?
    public var at: Timestamp

    public init(user: UserID, run: Run, seq: Int64, message: MessageID?, at: Timestamp) {
        self.user = user
        self.run = run
        self.seq = seq
        self.message = message
        self.at = at
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        let number: UInt8 = try reader.number()
        guard let run = Run(rawValue: number) else { throw .unknownValue(field: "run", UInt64(number)) }
        self.run = run
        seq = try reader.position()
        message = try reader.optionalMessage()
        at = try reader.time()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(run.rawValue)
        buffer.append(bigEndian: seq)
        buffer.append(message)
        buffer.append(at)
    }
}
