import Bytes
import Models

// The revocation of tokens: the request of an administrator, or of a user for their devices, and the announcement to the edges.

/// The tokens of a user that name a device (claim `dev`), or all but these, those without a device included.
///
/// Layout: all but these 1 · device name.
public enum DeviceScope: WireCodable, Hashable {
    case only(DeviceID), allBut(DeviceID)

    public var device: DeviceID {
        switch self {
        case .only(let device), .allBut(let device): device
        }
    }

    public var isAllBut: Bool { self == .allBut(device) }

    /// Whether it is about a token with this claim `dev`.
    public func contains(_ device: String?) -> Bool { (device == self.device.name) != isAllBut }

    public init(_ device: DeviceID, isAllBut: Bool) { self = isAllBut ? .allBut(device) : .only(device) }

    public init(from reader: inout ByteReader) throws(WireError) {
        let isAllBut = try reader.number(UInt8.self) != 0
        self.init(try reader.device(), isAllBut: isAllBut)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(isAllBut ? 1 : 0 as UInt8)
        buffer.append(name: device.name)
    }
}

/// A user, and the time up to which their tokens, or those of some devices, are revoked: a token is refused when its `iat`
/// is not later. The time only moves forward.
///
/// Layout: number in the user's slot 8 · user name · time 8. Of devices: number 8 · empty name · time 8 · user name ·
/// `DeviceScope`.
public struct Revocation: WireCodable, Hashable {
    /// Each change of a time takes the slot's next number, so a later one has a higher number.
    public var number: Int64
    public var user: UserID
    public var before: Timestamp
    /// Nil: all of the user's tokens.
    public var scope: DeviceScope?

    public init(number: Int64, _ user: UserID, before: Timestamp, _ scope: DeviceScope? = nil) {
        self.number = number
        self.user = user
        self.before = before
        self.scope = scope
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let number = try reader.position()
        let name = try reader.optionalUser()
        try self.init(number: number, name, before: try reader.time(), rest: &reader)
    }

    /// - Parameter name: nil if it is of devices.
    init(number: Int64, _ name: UserID?, before: Timestamp, rest reader: inout ByteReader) throws(WireError) {
        self.number = number
        self.before = before
        user = if let name { name } else { try reader.user() }
        scope = name == nil ? try DeviceScope(from: &reader) : nil
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: number)
        buffer.append(name: scope == nil ? user.name : "")
        buffer.append(before)
        guard let scope else { return }
        buffer.append(user)
        scope.write(to: &buffer)
    }
}

/// An entry of the list of revocations: tokens, or a user's suspension, which is numbered with these.
///
/// Layout: that of what it is. A `HeldSuspension` has no name and the time 0.
public enum ListedRevocation: WireCodable, Hashable {
    case tokens(Revocation)
    case suspension(HeldSuspension)

    public var number: Int64 {
        switch self {
        case .tokens(let revocation): revocation.number
        case .suspension(let suspension): suspension.number
        }
    }

    public var user: UserID {
        switch self {
        case .tokens(let revocation): revocation.user
        case .suspension(let suspension): suspension.user
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let number = try reader.position()
        let name = try reader.optionalUser()
        try self.init(number: number, name, before: try reader.time(), rest: &reader)
    }

    init(number: Int64, _ name: UserID?, before: Timestamp, rest reader: inout ByteReader) throws(WireError) {
        self =
            name == nil && before.milliseconds == 0
            ? .suspension(try HeldSuspension(number: number, rest: &reader))
            : .tokens(try Revocation(number: number, name, before: before, rest: &reader))
    }

    public func write(to buffer: inout ByteBuffer) {
        switch self {
        case .tokens(let revocation): revocation.write(to: &buffer)
        case .suspension(let suspension): suspension.write(to: &buffer)
        }
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

/// `noteDevice`: notes that a user has begun a session on a device.
///
/// A command on the user's slot. Layout: user name · device name. Response: 200, empty.
public struct NoteDevice: WireCodable, Hashable {
    public var user: UserID
    public var device: DeviceID

    public init(_ user: UserID, _ device: DeviceID) {
        self.user = user
        self.device = device
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        device = try reader.device()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(name: device.name)
    }
}

/// `devices`: the devices on which a user has begun sessions.
///
/// Layout: user name · name of the device that asks (empty: none).
public struct DevicesQuery: WireCodable, Hashable {
    public var user: UserID
    public var current: DeviceID?

    public init(_ user: UserID, current: DeviceID?) {
        self.user = user
        self.current = current
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        current = try reader.optionalDevice()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(name: current?.name ?? "")
    }
}

/// `endDevices`: revokes the tokens of a user's devices that were issued up to a time.
///
/// A command on the user's slot. Layout: user name · time 8 · `DeviceScope`. Response: 200 with the `Revocation` in force.
public struct EndDevices: WireCodable, Hashable {
    public var user: UserID
    public var before: Timestamp
    public var scope: DeviceScope

    public init(_ user: UserID, _ scope: DeviceScope, before: Timestamp) {
        self.user = user
        self.before = before
        self.scope = scope
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        before = try reader.time()
        scope = try DeviceScope(from: &reader)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(before)
        scope.write(to: &buffer)
    }
}

/// `revocations`: the revocations of a slot after a number. Numbers begin at 1 and only grow. There is only the latest one of
/// the same tokens, so there are gaps.
///
/// A query. Layout: slot 1 · after 8 · what the asker knows 1 (1: devices, 2: suspensions, together 3). Response: last number of
/// the slot 8 · `ListedRevocation`s, ascending by number, to the end. If they end before the last number, there are more.
/// Processes of before devices ask without the last byte. To those that do not know a kind, one of it is a revocation of the
/// user's tokens up to 1970.
public struct RevocationsQuery: WireCodable, Hashable {
    public var slot: Slot
    public var after: Int64
    public var knowsDevices: Bool
    public var knowsSuspensions: Bool

    public init(_ slot: Slot, after: Int64, knowsDevices: Bool = true, knowsSuspensions: Bool = true) {
        self.slot = slot
        self.after = after
        self.knowsDevices = knowsDevices
        self.knowsSuspensions = knowsSuspensions
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        slot = Slot(try reader.number())
        after = try reader.position()
        let known: UInt8 = reader.isAtEnd ? 0 : try reader.number()
        knowsDevices = known & 1 != 0
        knowsSuspensions = known & 2 != 0
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(slot.number)
        buffer.append(bigEndian: after)
        buffer.append((knowsDevices ? 1 : 0) | (knowsSuspensions ? 2 : 0) as UInt8)
    }
}

/// store → ingest, fanout, media (topic `V`): the last number of a slot's revocations. The slot's owner publishes it once a
/// second, and at once, with the revocation, when there is a new one: an up-to-date subscriber then needs no query. The
/// number only grows, so the highest one received is valid.
///
/// Layout: slot 1 · `ListedRevocation`; not included: slot 1 · number 8 · empty name · 0 8. To a process that does not know
/// suspensions, one of these is not included, and to one that does not know devices, neither are those.
public struct RevocationEntry: WireCodable, Hashable {
    public var slot: Slot
    public var number: Int64
    public var latest: ListedRevocation?

    public init(_ slot: Slot, number: Int64) {
        self.slot = slot
        self.number = number
    }

    public init(_ latest: ListedRevocation) {
        slot = latest.user.slot
        number = latest.number
        self.latest = latest
    }

    public init(_ revocation: Revocation) { self.init(.tokens(revocation)) }

    public init(from reader: inout ByteReader) throws(WireError) {
        slot = Slot(try reader.number())
        number = try reader.position()
        let name = try reader.optionalUser()
        let before = try reader.time()
        guard name != nil || before.milliseconds > 0 || !reader.isAtEnd else { return }
        latest = try ListedRevocation(number: number, name, before: before, rest: &reader)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(slot.number)
        if let latest { return latest.write(to: &buffer) }
        buffer.append(bigEndian: number)
        buffer.append(name: "")
        buffer.append(Timestamp(milliseconds: 0))
    }
}
