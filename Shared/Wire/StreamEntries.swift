import Bytes
import Models

/// store → fanout (topic `M`): a committed change.
///
/// It borrows its bytes. Layout: conversation 16 · seq 8 · trace context of the request, if any (see `TraceContext`) ·
/// kind 1 · user name (who was added or removed; else empty) · the message's seq 8 (0: no message) · length 4 · the
/// change's JSON as in the contract, the same for every reader who may see the message · offset of its member `message`
/// 4.
public struct ChangeEntry {
    public var conversation: ConversationID
    public var seq: Int64
    public var kind: ChangeKind
    public var trace: TraceContext?
    public var user: UnsafeRawBufferPointer
    /// The position of the changed message. Members whose stays do not cover it get the change without the message.
    public var messageSeq: Int64?
    public var json: UnsafeRawBufferPointer
    /// The JSON up to its member `message`: an object without its closing brace. All of it when there is no message.
    public var head: UnsafeRawBufferPointer

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        seq = try reader.position()
        let number: UInt8
        (number, trace) = try reader.kind()
        guard let kind = ChangeKind(rawValue: number) else { throw .unknownValue(field: "change kind", UInt64(number)) }
        self.kind = kind
        user = try reader.name()
        let messageSeq: Int64 = try reader.position()
        self.messageSeq = messageSeq == 0 ? nil : messageSeq
        json = try reader.long()
        let headCount = Int(try reader.number(UInt32.self))
        guard headCount <= json.count else { throw .unknownValue(field: "head of a change", UInt64(headCount)) }
        head = UnsafeRawBufferPointer(rebasing: json[..<headCount])
    }

    /// Writes an entry. `head` writes the JSON up to its member `message`, `rest` the remainder.
    public static func write(
        _ conversation: ConversationID, seq: Int64, _ kind: ChangeKind, trace: TraceContext? = nil, user: String = "",
        messageSeq: Int64? = nil, to buffer: inout ByteBuffer, head: (inout ByteBuffer) -> Void,
        rest: (inout ByteBuffer) -> Void
    ) {
        buffer.append(conversation)
        buffer.append(bigEndian: seq)
        buffer.append(kind: kind.rawValue, trace)
        buffer.append(name: user)
        buffer.append(bigEndian: messageSeq ?? 0)
        var headCount = 0
        buffer.appendLong { buffer in
            let start = buffer.count
            head(&buffer)
            headCount = buffer.count - start
            rest(&buffer)
        }
        buffer.append(bigEndian: UInt32(headCount))
    }
}

/// store → fanout (topic `U`): a committed change of a user's private stream.
///
/// It borrows its bytes. Layout: user name · useq 8 · kind 1 · conversation 16 (zero: none) · seq 8 (joined: the last
/// position before the stay; else unused) · detail 4 · length 4 · the frame's JSON as in the contract, without `type`.
public struct PrivateEntry {
    public var user: UserID
    public var useq: Int64
    public var kind: PrivateKind
    public var conversation: ConversationID
    public var seq: Int64
    /// Joined: the number of members, with `joinsSilently`. Settings without a conversation: 1 when the user shows
    /// presence. Blocked: 1 when the user blocks somebody, 0 when they end that. Else 0.
    public var detail: Int
    /// The bit of `detail` that no change begins the stay.
    public static let joinsSilently = 1 << 31
    public var json: UnsafeRawBufferPointer

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        useq = try reader.position()
        let number: UInt8 = try reader.number()
        guard let kind = PrivateKind(rawValue: number) else {
            throw .unknownValue(field: "private kind", UInt64(number))
        }
        self.kind = kind
        conversation = try reader.conversation()
        seq = try reader.position()
        detail = Int(try reader.number(UInt32.self))
        json = try reader.long()
    }

    public static func write(
        _ user: UserID, useq: Int64, _ kind: PrivateKind, _ conversation: ConversationID, seq: Int64, detail: Int,
        to buffer: inout ByteBuffer, json: (inout ByteBuffer) -> Void
    ) {
        buffer.append(user)
        buffer.append(bigEndian: useq)
        buffer.append(kind.rawValue)
        buffer.append(conversation)
        buffer.append(bigEndian: seq)
        buffer.append(bigEndian: UInt32(detail))
        buffer.appendLong(json)
    }
}

/// receipt → fanout (topic `S`): horizons of a conversation moved.
///
/// It borrows its bytes. Layout: conversation 16 · status version 8 · length 4 · the frame's JSON as in the contract,
/// without `type`; empty if the conversation has too many members to name (see `SenderCounts`), or no receipts.
public struct StatusEntry {
    public var conversation: ConversationID
    public var version: Int64
    public var json: UnsafeRawBufferPointer

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        version = try reader.position()
        json = try reader.long()
    }

    public static func write(
        _ conversation: ConversationID, version: Int64, to buffer: inout ByteBuffer, json: (inout ByteBuffer) -> Void
    ) {
        buffer.append(conversation)
        buffer.append(bigEndian: version)
        buffer.appendLong(json)
    }
}
