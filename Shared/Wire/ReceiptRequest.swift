import Bytes
import Models

/// The kinds of requests to `receipt`. Numbers are retired, never reused.
public enum ReceiptRequestKind: UInt8, CaseIterable, Sendable {
    case signal = 1
    case seen = 2
    case importReceipts = 3
    case erase = 10
    case dropReceipts = 11
    case forgetSeen = 12
    case status = 64
    case positions = 65
    case lastSeen = 66
    case peers = 67
    case seenPeers = 68
}

/// `signal`: a user has stored, or read, a conversation up to a position. Horizons only move forward, so repetitions
/// and any order are harmless.
///
/// Layout: conversation 16 · user name · delivered 8 · read 8 (0: not given).
/// Response: 202 without a body once the horizons are committed at these positions or beyond, or a `Problem`.
public struct ReceiptSignal: WireCodable, Hashable {
    public var conversation: ConversationID
    public var user: UserID
    public var delivered: Int64
    public var read: Int64

    public init(_ conversation: ConversationID, user: UserID, delivered: Int64, read: Int64) {
        self.conversation = conversation
        self.user = user
        self.delivered = delivered
        self.read = read
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        user = try reader.user()
        // Clients' values: `receipt` limits them, or refuses them with a `Problem`.
        delivered = try reader.number()
        read = try reader.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(user)
        buffer.append(bigEndian: delivered)
        buffer.append(bigEndian: read)
    }
}

/// `status`: the receipts of a conversation that moved after a version, merged.
///
/// Layout: conversation 16 · after version 8. Response: one entry as in `StatusEntry`. `positions` of receipt has the
/// layout of `StreamPositions`, with status versions.
public struct StatusQuery: WireCodable, Hashable {
    public var conversation: ConversationID
    public var after: Int64

    public init(_ conversation: ConversationID, after: Int64) {
        self.conversation = conversation
        self.after = after
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        after = try reader.position()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(bigEndian: after)
    }
}
