import Bytes
import Models

// The revocation of tokens: an administrator's request, and the announcement to the edges.

/// A user, and the time up to which their tokens are revoked: a token is refused when its `iat` is not later. The time
/// only moves forward.
///
/// Layout: number in the user's slot 8 · user name · time 8.
public struct Revocation: WireCodable, Hashable {
    /// Each change of a user's time takes the slot's next number, so a later one has a higher number.
    public var number: Int64
    public var user: UserID
    public var before: Timestamp

    public init(number: Int64, _ user: UserID, before: Timestamp) {
        self.number = number
        self.user = user
        self.before = before
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        number = try reader.position()
        user = try reader.user()
        before = try reader.time()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: number)
        buffer.append(user)
        buffer.append(before)
    }
}

/// `revokeTokens`: revokes the tokens of a user that were issued up to a time.
///
/// A command on the user's slot. Layout: user name · time 8. Response: 200 with the `Revocation` in force.
public struct RevokeTokens: WireCodable, Hashable {
    public var user: UserID
    public var before: Timestamp

    public init(_ user: UserID, before: Timestamp) {
        self.user = user
        self.before = before
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        before = try reader.time()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(before)
    }
}

/// `revocations`: the revocations of a slot after a number. Numbers begin at 1 and only grow. A user has only the
/// latest one, so there are gaps.
///
/// A query. Layout: slot 1 · after 8. Response: last number of the slot 8 · `Revocation`s, ascending by number, to the
/// end. If they end before the last number, there are more.
public struct RevocationsQuery: WireCodable, Hashable {
    public var slot: Slot
    public var after: Int64

    public init(_ slot: Slot, after: Int64) {
        self.slot = slot
        self.after = after
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        slot = Slot(try reader.number())
        after = try reader.position()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(slot.number)
        buffer.append(bigEndian: after)
    }
}

/// store → ingest, fanout (topic `V`): the last number of a slot's revocations. The slot's owner publishes it once a
/// second, and at once, with the revocation, when there is a new one: an up-to-date subscriber then needs no query. The
/// number only grows, so the highest one received is valid.
///
/// Layout: slot 1 · number 8 · name of the user (empty: not included) · time 8.
public struct RevocationEntry: WireCodable, Hashable {
    public var slot: Slot
    public var number: Int64
    public var latest: Revocation?

    public init(_ slot: Slot, number: Int64) {
        self.slot = slot
        self.number = number
    }

    public init(_ revocation: Revocation) {
        slot = revocation.user.slot
        number = revocation.number
        latest = revocation
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        slot = Slot(try reader.number())
        number = try reader.position()
        let user = try reader.optionalUser()
        let before = try reader.time()
        latest = user.map { [number] in Revocation(number: number, $0, before: before) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(slot.number)
        buffer.append(bigEndian: number)
        buffer.append(name: latest?.user.name ?? "")
        buffer.append(latest?.before ?? Timestamp(milliseconds: 0))
    }
}
