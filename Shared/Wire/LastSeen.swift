import Bytes
import Models

/// `seen`: users of one slot are online, or were until now. `receipt` stores the minute by the database's clock.
///
/// Layout: count 2 × user name. Response: 204 once it is committed.
public struct SeenUsers: WireCodable, Hashable {
    /// The maximum number of users in one request.
    public static let limit = 1_000

    public var users: [UserID]

    public init(_ users: [UserID]) {
        precondition(users.count <= Self.limit, "a request holds \(Self.limit) users")
        self.users = users
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        users = []
        for _ in 0..<(try reader.number(UInt16.self)) { users.append(try reader.user()) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: UInt16(users.count))
        for user in users { buffer.append(user) }
    }
}

/// `lastSeen`: when the other users of a user's latest direct conversations were last seen, if they share it.
///
/// Layout: user name. Response: `LastSeen`.
public struct LastSeenQuery: WireCodable, Hashable {
    public var user: UserID

    public init(_ user: UserID) { self.user = user }
    public init(from reader: inout ByteReader) throws(WireError) { user = try reader.user() }
    public func write(to buffer: inout ByteBuffer) { buffer.append(user) }
}

/// The response to `lastSeen`. Layout: count 2 × (user name · full minute 8 (ms)).
public struct LastSeen: WireCodable, Hashable {
    public var departures: [PresenceList.Departure]

    public init(_ departures: [PresenceList.Departure]) { self.departures = departures }

    public init(from reader: inout ByteReader) throws(WireError) {
        departures = []
        for _ in 0..<(try reader.number(UInt16.self)) {
            departures.append(PresenceList.Departure(try reader.user(), lastSeen: try reader.time()))
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: UInt16(departures.count))
        for departure in departures {
            buffer.append(departure.user)
            buffer.append(departure.lastSeen)
        }
    }
}

// On Citus the service that answers `lastSeen` asks those that own the slots of the conversations, and then of their members.

/// `peers`: the other members of these direct conversations of a user, all of one shard: the latest activity first. Those
/// that are not direct are left out.
///
/// Layout: user name · count 2 × conversation 16. Response: `Peers`.
public struct PeersQuery: WireCodable, Hashable {
    /// The maximum number of conversations in one request.
    public static let limit = 2_000

    public var user: UserID
    public var conversations: [ConversationID]

    public init(of user: UserID, in conversations: [ConversationID]) {
        precondition(conversations.count <= Self.limit, "a request holds \(Self.limit) conversations")
        self.user = user
        self.conversations = conversations
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        conversations = []
        for _ in 0..<(try reader.number(UInt16.self)) { conversations.append(try reader.conversation()) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(bigEndian: UInt16(conversations.count))
        for conversation in conversations { buffer.append(conversation) }
    }
}

/// The response to `peers`. Layout: count 2 × (user name · time of the conversation's latest activity 8 (ms)).
public struct Peers: WireCodable, Hashable {
    public struct Peer: Hashable, Sendable {
        public var user: UserID
        public var lastAt: Timestamp

        public init(_ user: UserID, lastAt: Timestamp) {
            self.user = user
            self.lastAt = lastAt
        }
    }

    public var peers: [Peer]

    public init(_ peers: [Peer]) { self.peers = peers }

    public init(from reader: inout ByteReader) throws(WireError) {
        peers = []
        for _ in 0..<(try reader.number(UInt16.self)) {
            peers.append(Peer(try reader.user(), lastAt: try reader.time()))
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: UInt16(peers.count))
        for peer in peers {
            buffer.append(peer.user)
            buffer.append(peer.lastAt)
        }
    }
}

// `seenPeers`: when users of one shard were last seen, those of them who show it. Layout as `SeenUsers`, response as
// `LastSeen`. `forgetSeen`: a user is erased. Layout as `LastSeenQuery`, response 204.
