import Bytes
import Models

// The queries of fanout for its streams and sessions.

/// Identifies a stream, a dense sequence of positions: a conversation's changes (`seq`), a user's private changes
/// (`useq`), or, in digests of `receipt`, a conversation's status (`statusVersion`).
///
/// Layout: 0, conversation 16 | 1, user name.
public enum StreamKey: WireCodable, Hashable {
    case conversation(ConversationID)
    case user(UserID)

    public var slot: Slot {
        switch self {
        case .conversation(let conversation): conversation.slot
        case .user(let user): user.slot
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let kind: UInt8 = try reader.number()
        switch kind {
        case 0: self = .conversation(try reader.conversation())
        case 1: self = .user(try reader.user())
        default: throw .unknownValue(field: "stream kind", UInt64(kind))
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        switch self {
        case .conversation(let conversation):
            buffer.append(UInt8(0))
            buffer.append(conversation)
        case .user(let user):
            buffer.append(UInt8(1))
            buffer.append(user)
        }
    }
}

/// A stream and a position in it. Layout: key · position 8.
public struct StreamPosition: WireCodable, Hashable {
    public var key: StreamKey
    public var position: Int64

    public init(_ key: StreamKey, _ position: Int64) {
        self.key = key
        self.position = position
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        key = try StreamKey(from: &reader)
        position = try reader.position()
    }

    public func write(to buffer: inout ByteBuffer) {
        key.write(to: &buffer)
        buffer.append(bigEndian: position)
    }
}

/// `positions` of store and receipt: a subscriber's positions in the streams of one slot. The response, in the same
/// layout, has the streams that are further on in the database, with their positions there. Layout: count 4 × position.
public struct StreamPositions: WireCodable, Hashable {
    public var positions: [StreamPosition]

    public init(_ positions: [StreamPosition]) { self.positions = positions }

    public init(from reader: inout ByteReader) throws(WireError) {
        positions = []
        for _ in 0..<(try reader.number(UInt32.self)) { positions.append(try StreamPosition(from: &reader)) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: UInt32(positions.count))
        for position in positions { position.write(to: &buffer) }
    }
}

/// `replay`: the changes of a conversation after `after` and up to `through`, at most `limit`, for all members.
/// `fanout` filters them by the windows of its sessions.
///
/// Layout: conversation 16 · after 8 · through 8 · limit 4 · as of 8 (missing: now).
/// Response: last position of the conversation 8 · entries as in `ChangeEntry`, ascending, to the end. Fewer than
/// `limit` does not mean the end: a page also ends at 512 KiB.
public struct ReplayQuery: WireCodable, Hashable {
    public var conversation: ConversationID
    public var after: Int64
    public var through: Int64
    public var limit: UInt32
    /// Messages are as of this position at the latest.
    public var asOf: Int64

    public init(_ conversation: ConversationID, after: Int64, through: Int64, limit: UInt32, asOf: Int64 = .max) {
        self.asOf = asOf
        self.conversation = conversation
        self.after = after
        self.through = through
        self.limit = limit
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        after = try reader.position()
        through = try reader.position()
        limit = try reader.number()
        asOf = reader.isAtEnd ? .max : try reader.position()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(bigEndian: after)
        buffer.append(bigEndian: through)
        buffer.append(bigEndian: limit)
        if asOf != .max { buffer.append(bigEndian: asOf) }
    }
}

/// `privateReplay`: the private changes of a user after `after`, at most `limit`.
///
/// Layout: user name · after 8 · limit 4. Response: last useq of the user 8 · entries as in `PrivateEntry`, to the end.
/// If the first one is not `after` + 1, those between were removed.
public struct PrivateReplayQuery: WireCodable, Hashable {
    public var user: UserID
    public var after: Int64
    public var limit: UInt32

    public init(_ user: UserID, after: Int64, limit: UInt32) {
        self.user = user
        self.after = after
        self.limit = limit
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        after = try reader.position()
        limit = try reader.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(bigEndian: after)
        buffer.append(bigEndian: limit)
    }
}

/// `bootstrap`: the initial state of a session. Layout: user name. Response: `Bootstrap`.
public struct BootstrapQuery: WireCodable, Hashable {
    public var user: UserID

    public init(_ user: UserID) { self.user = user }
    public init(from reader: inout ByteReader) throws(WireError) { user = try reader.user() }
    public func write(to buffer: inout ByteBuffer) { buffer.append(user) }
}

/// The state of a user in one snapshot of the database.
///
/// Layout: log id 16 · server time 8 (ms) · useq 8 · more 1 (whether there are more conversations than in the JSON) ·
/// count 4 × stay · length 4 · JSON array of the 100 latest conversations · shows presence 1 (the user's setting) ·
/// first useq that can be replayed 8 (missing: 1) · blocked users 2 × name (missing: none).
public struct Bootstrap: WireCodable {
    /// One stay of the user in a conversation. Layout: conversation 16 · last seq of the conversation 8 · from 8 · to 8
    /// (0: a current member) · status version 8 · member count 4.
    public struct Stay: Hashable, Sendable {
        public var conversation: ConversationID
        public var lastSeq: Int64
        public var from: Int64
        /// The position of the change that ended the stay; nil for a current member.
        public var through: Int64?
        public var statusVersion: Int64
        public var memberCount: Int

        public init(
            conversation: ConversationID, lastSeq: Int64, from: Int64, through: Int64?, statusVersion: Int64,
            memberCount: Int
        ) {
            self.memberCount = memberCount
            self.conversation = conversation
            self.lastSeq = lastSeq
            self.from = from
            self.through = through
            self.statusVersion = statusVersion
        }
    }

    public var logID: UUIDBytes
    public var serverTime: Timestamp
    public var useq: Int64
    public var hasMore: Bool
    public var stays: [Stay]
    public var conversations: [UInt8]
    public var showsPresence: Bool
    /// Private changes before this one cannot be replayed.
    public var firstUseq: Int64
    /// Whom the user has blocked, by name.
    public var blocked: [UserID]

    public init(
        logID: UUIDBytes, serverTime: Timestamp, useq: Int64, hasMore: Bool, stays: [Stay], conversations: [UInt8],
        showsPresence: Bool, firstUseq: Int64 = 1, blocked: [UserID] = []
    ) {
        self.blocked = blocked
        self.showsPresence = showsPresence
        self.firstUseq = firstUseq
        self.logID = logID
        self.serverTime = serverTime
        self.useq = useq
        self.hasMore = hasMore
        self.stays = stays
        self.conversations = conversations
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        logID = try reader.uuid()
        serverTime = try reader.time()
        useq = try reader.position()
        hasMore = try reader.number(UInt8.self) == 1
        stays = []
        for _ in 0..<(try reader.number(UInt32.self)) { stays.append(try Stay(from: &reader)) }
        conversations = Array(try reader.long())
        showsPresence = try reader.number(UInt8.self) == 1
        firstUseq = reader.isAtEnd ? 1 : try reader.position()
        blocked = []
        guard !reader.isAtEnd else { return }
        for _ in 0..<(try reader.number(UInt16.self)) { blocked.append(try reader.user()) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: logID)
        buffer.append(serverTime)
        buffer.append(bigEndian: useq)
        buffer.append(hasMore ? 1 : 0 as UInt8)
        buffer.append(bigEndian: UInt32(stays.count))
        for stay in stays { stay.write(to: &buffer) }
        conversations.withUnsafeBytes { buffer.append(long: $0) }
        buffer.append(showsPresence ? 1 : 0 as UInt8)
        buffer.append(bigEndian: firstUseq)
        buffer.append(bigEndian: UInt16(blocked.count))
        for user in blocked { buffer.append(user) }
    }
}

extension Bootstrap.Stay: WireCodable {
    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        lastSeq = try reader.position()
        from = try reader.position()
        let end: Int64 = try reader.position()
        through = end == 0 ? nil : end
        statusVersion = try reader.position()
        memberCount = Int(try reader.number(UInt32.self))
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(bigEndian: lastSeq)
        buffer.append(bigEndian: from)
        buffer.append(bigEndian: through ?? 0)
        buffer.append(bigEndian: statusVersion)
        buffer.append(bigEndian: UInt32(memberCount))
    }
}
