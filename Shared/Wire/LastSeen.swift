import Bytes
import Models

/// `seen`: users of one slot are, or were until now, online. `receipt` keeps the minute, by the database's clock.
///
/// Layout: count 2 × user name. Answer: 204 once it is committed.
package struct SeenUsers: WireCodable, Hashable {
    /// Users of one request.
    package static let limit = 1_000

    package var users: [UserID]

    package init(_ users: [UserID]) {
        precondition(users.count <= Self.limit, "a request holds \(Self.limit) users")
        self.users = users
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        users = []
        for _ in 0..<(try reader.number(UInt16.self)) { users.append(try reader.user()) }
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: UInt16(users.count))
        for user in users { buffer.append(user) }
    }
}

/// `lastSeen`: when those were last seen with whom a user has direct conversations, the latest of these, as far as they
/// show it.
///
/// Layout: user name. Answer: `LastSeen`.
package struct LastSeenQuery: WireCodable, Hashable {
    package var user: UserID

    package init(_ user: UserID) { self.user = user }
    package init(from reader: inout ByteReader) throws(WireError) { user = try reader.user() }
    package func write(to buffer: inout ByteBuffer) { buffer.append(user) }
}

/// Layout: count 2 × (user name · full minute 8 (ms)).
package struct LastSeen: WireCodable, Hashable {
    package var departures: [PresenceList.Departure]

    package init(_ departures: [PresenceList.Departure]) { self.departures = departures }

    package init(from reader: inout ByteReader) throws(WireError) {
        departures = []
        for _ in 0..<(try reader.number(UInt16.self)) {
            departures.append(PresenceList.Departure(try reader.user(), lastSeen: try reader.time()))
        }
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: UInt16(departures.count))
        for departure in departures {
            buffer.append(departure.user)
            buffer.append(departure.lastSeen)
        }
    }
}
