import Bytes
import Models

/// `seen`: users of one slot are, or were until now, online. `receipt` keeps the minute, by the database's clock.
///
/// Layout: count 2 × user name. Answer: 204 once it is committed.
public struct SeenUsers: WireCodable, Hashable {
    /// Users of one request.
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

/// `lastSeen`: when those were last seen with whom a user has direct conversations, the latest of these, as far as they
/// show it.
///
/// Layout: user name. Answer: `LastSeen`.
public struct LastSeenQuery: WireCodable, Hashable {
    public var user: UserID

    public init(_ user: UserID) { self.user = user }
    public init(from reader: inout ByteReader) throws(WireError) { user = try reader.user() }
    public func write(to buffer: inout ByteBuffer) { buffer.append(user) }
}

/// Layout: count 2 × (user name · full minute 8 (ms)).
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
