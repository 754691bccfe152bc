import Bytes
import Models

// The suspension of users: the request of an administrator, and what the edges hold of it.

/// `suspendUser`: suspends a user, or lifts their suspension.
///
/// A command on the user's slot. Layout: user name · mode 1 (0: lifted) · until 8 (0: for ever) · reason (the rest,
/// UTF-8; empty: none). Response: 200 with the `HeldSuspension` in force; empty if there was nothing to lift.
public struct SuspendUser: WireCodable, Hashable {
    public var user: UserID
    /// Nil: lifts it.
    public var mode: SuspensionMode?
    public var until: Timestamp?
    public var reason: String

    public init(_ user: UserID, _ mode: SuspensionMode?, until: Timestamp? = nil, reason: String = "") {
        self.user = user
        self.mode = mode
        self.until = until
        self.reason = reason
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        mode = try reader.suspensionMode()
        until = try reader.optionalTime()
        reason = String(decoding: reader.readRest(), as: UTF8.self)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(mode?.rawValue ?? 0)
        buffer.append(until ?? .absent)
        buffer.append(utf8: reason)
    }
}

/// `suspension`: the suspension of a user.
///
/// A query. Layout: user name.
public struct SuspensionQuery: WireCodable, Hashable {
    public var user: UserID

    public init(_ user: UserID) { self.user = user }

    public init(from reader: inout ByteReader) throws(WireError) { user = try reader.user() }

    public func write(to buffer: inout ByteBuffer) { buffer.append(user) }
}

/// A user's suspension as the edges hold it, in the list of revocations, from which it takes its number.
///
/// Layout: number in the user's slot 8 · empty name · 0 8 · user name · mode 1 (0: lifted) · until 8 (0: for ever). It begins
/// like a `Revocation` of devices, whose time is never 0.
public struct HeldSuspension: WireCodable, Hashable {
    public var number: Int64
    public var user: UserID
    /// Nil: it was lifted.
    public var mode: SuspensionMode?
    public var until: Timestamp?

    public init(number: Int64, _ user: UserID, _ mode: SuspensionMode?, until: Timestamp? = nil) {
        self.number = number
        self.user = user
        self.mode = mode
        self.until = until
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let number = try reader.position()
        let name = try reader.name()
        guard name.isEmpty else { throw .unknownValue(field: "suspension", UInt64(name.count)) }
        let time = try reader.time()
        guard time == .absent else { throw .unknownValue(field: "suspension", UInt64(bitPattern: time.milliseconds)) }
        try self.init(number: number, rest: &reader)
    }

    init(number: Int64, rest reader: inout ByteReader) throws(WireError) {
        self.number = number
        user = try reader.user()
        mode = try reader.suspensionMode()
        until = try reader.optionalTime()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: number)
        buffer.append(name: "")
        buffer.append(Timestamp.absent)
        writeRest(to: &buffer)
    }

    func writeRest(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(mode?.rawValue ?? 0)
        buffer.append(until ?? .absent)
    }
}

extension Timestamp {
    /// Where a time is absent.
    fileprivate static var absent: Timestamp { Timestamp(milliseconds: 0) }
}

extension ByteReader {
    fileprivate mutating func suspensionMode() throws(WireError) -> SuspensionMode? {
        let number: UInt8 = try self.number()
        if number == 0 { return nil }
        guard let mode = SuspensionMode(rawValue: number) else {
            throw .unknownValue(field: "suspension mode", UInt64(number))
        }
        return mode
    }

    fileprivate mutating func optionalTime() throws(WireError) -> Timestamp? {
        let time = try time()
        return time == .absent ? nil : time
    }
}
