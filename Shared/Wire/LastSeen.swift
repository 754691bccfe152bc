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
