import Bytes
import Models

// The revocation of tokens: what an administrator asks for, and how the edges learn of it.

/// A user, and the moment up to which tokens issued for them are refused, a token's issue counting as in it when its `iat`
/// is not later. It only moves forward.
///
/// Layout: number in the user's slot 8 · user name · time 8.
public struct Revocation: WireCodable, Hashable {
    /// Each movement takes the slot's next number, so of two of one user the later one has the higher.
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

/// `revokeTokens`: refuse the tokens of a user that were issued up to a moment.
///
/// A command on the user's slot. Layout: user name · time 8. Answer: 200 with the `Revocation` that is in force.
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

/// `revocations`: those of a slot behind a number. Numbers begin at 1 and only grow; a user whose moment moved has only the
/// latest, so there are gaps.
///
/// A query. Layout: slot 1 · after 8. Answer: the numbers' end 8 · `Revocation`s, ascending by number, to the end. Where
/// their last number is below that end, there are more.
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

/// store → ingest, fanout (topic `V`): the last number of a slot's revocations. Said once a second by the slot's owner, and
/// at once with the revocation that took it: a subscriber that has all others then needs to ask nobody. The number only
/// grows, so the highest that anybody said counts.
///
/// Layout: slot 1 · number 8 · name of the user (empty: not told) · time 8.
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
