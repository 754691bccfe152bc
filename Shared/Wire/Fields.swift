import Bytes
import JSON
import Models

// The encoding of the domain's types in a frame. Integers are big-endian; a name is one length byte and its bytes; an
// absent identifier is 16 zero bytes, which are not a UUID of version 4, 7 or 8.

/// A type with a binary layout in frames of the bus.
public protocol WireCodable: Sendable {
    init(from reader: inout ByteReader) throws(WireError)
    func write(to buffer: inout ByteBuffer)
}

/// Why bytes from the bus could not be read.
public enum WireError: Error, Equatable {
    case truncated
    /// A number with no meaning in this version.
    case unknownValue(field: StaticString, UInt64)

    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.truncated, .truncated): true
        case (.unknownValue(_, let left), .unknownValue(_, let right)): left == right
        default: false
        }
    }
}

extension ByteBuffer {
    public mutating func append(_ conversation: ConversationID) { append(bigEndian: conversation.uuid) }
    public mutating func append(_ message: MessageID) { append(bigEndian: message.uuid) }
    public mutating func append(_ media: MediaID) { append(bigEndian: media.uuid) }
    public mutating func append(_ invitation: InvitationID) { append(bigEndian: invitation.uuid) }
    public mutating func append(_ report: ReportID) { append(bigEndian: report.uuid) }
    public mutating func append(_ time: Timestamp) { append(bigEndian: time.milliseconds) }
    public mutating func append(_ user: UserID) { append(name: user.name) }

    public mutating func append(_ message: MessageID?) {
        append(bigEndian: message?.uuid ?? .zero)
    }

    /// Appends a name of at most 255 bytes, with its length.
    public mutating func append(name: String) {
        let length = name.utf8.count
        precondition(length <= 255, "a name has one length byte")
        append(UInt8(length))
        append(utf8: name)
    }

    /// Appends up to 4 GiB of bytes, with a length of four bytes.
    public mutating func append(long bytes: UnsafeRawBufferPointer) {
        append(bigEndian: UInt32(bytes.count))
        append(bytes)
    }

    /// Appends the bytes that `body` writes, with their length (four bytes) before them.
    public mutating func appendLong(_ body: (inout ByteBuffer) -> Void) {
        let start = count
        append(bigEndian: UInt32(0))
        body(&self)
        overwrite(at: start, bigEndian: UInt32(count - start - 4))
    }
}

extension ByteReader {
    public mutating func number<Integer: FixedWidthInteger>(_: Integer.Type = Integer.self) throws(WireError)
        -> Integer
    {
        do { return try read() } catch { throw .truncated }
    }

    // One overload per width, as in `ByteReader`.
    public mutating func number(_: UInt8.Type = UInt8.self) throws(WireError) -> UInt8 {
        do { return try read(UInt8.self) } catch { throw .truncated }
    }
    public mutating func number(_: UInt16.Type = UInt16.self) throws(WireError) -> UInt16 {
        do { return try read(UInt16.self) } catch { throw .truncated }
    }
    public mutating func number(_: UInt32.Type = UInt32.self) throws(WireError) -> UInt32 {
        do { return try read(UInt32.self) } catch { throw .truncated }
    }
    public mutating func number(_: UInt64.Type = UInt64.self) throws(WireError) -> UInt64 {
        do { return try read(UInt64.self) } catch { throw .truncated }
    }
    public mutating func number(_: Int64.Type = Int64.self) throws(WireError) -> Int64 {
        do { return try read(Int64.self) } catch { throw .truncated }
    }

    public mutating func conversation() throws(WireError) -> ConversationID { ConversationID(try uuid()) }
    public mutating func message() throws(WireError) -> MessageID { MessageID(try uuid()) }
    public mutating func media() throws(WireError) -> MediaID { MediaID(try uuid()) }
    public mutating func invitation() throws(WireError) -> InvitationID { InvitationID(try uuid()) }

    public mutating func report() throws(WireError) -> ReportID { ReportID(try uuid()) }

    /// Reads a time within bounds that keep arithmetic from overflowing, which would end the process.
    public mutating func time() throws(WireError) -> Timestamp {
        let limit = JSONReader.maximumPosition
        return Timestamp(milliseconds: try number("time", in: -limit...limit))
    }

    /// Reads a position in a stream, or another counter: not negative, and within bounds that keep arithmetic from
    /// overflowing.
    public mutating func position() throws(WireError) -> Int64 {
        try number("position", in: 0...JSONReader.maximumPosition)
    }

    private mutating func number(_ field: StaticString, in range: ClosedRange<Int64>) throws(WireError) -> Int64 {
        let number: Int64 = try number()
        guard range.contains(number) else { throw .unknownValue(field: field, UInt64(bitPattern: number)) }
        return number
    }

    public mutating func user() throws(WireError) -> UserID { try user(named: try name()) }

    /// Reads a user name; nil if it is empty.
    mutating func optionalUser() throws(WireError) -> UserID? {
        let name = try name()
        return name.isEmpty ? nil : try user(named: name)
    }

    /// Validated like clients' names: an invalid one could not be written into another frame.
    private func user(named name: UnsafeRawBufferPointer) throws(WireError) -> UserID {
        guard let user = UserID(bytes: name) else { throw .unknownValue(field: "user name", UInt64(name.count)) }
        return user
    }

    public mutating func device() throws(WireError) -> DeviceID {
        guard let device = try optionalDevice() else { throw .unknownValue(field: "device name", 0) }
        return device
    }

    /// Reads a device's name; nil if it is empty.
    mutating func optionalDevice() throws(WireError) -> DeviceID? {
        let bytes = try name()
        if bytes.isEmpty { return nil }
        guard let device = String(validating: bytes, as: UTF8.self).flatMap(DeviceID.init) else {
            throw .unknownValue(field: "device name", UInt64(bytes.count))
        }
        return device
    }

    public mutating func optionalMessage() throws(WireError) -> MessageID? {
        let uuid = try uuid()
        return uuid == .zero ? nil : MessageID(uuid)
    }

    public mutating func uuid() throws(WireError) -> UUIDBytes {
        do { return try readUUID() } catch { throw .truncated }
    }

    public mutating func name() throws(WireError) -> UnsafeRawBufferPointer {
        try bytes(Int(try number(UInt8.self)))
    }

    public mutating func long() throws(WireError) -> UnsafeRawBufferPointer {
        try bytes(Int(try number(UInt32.self)))
    }

    public mutating func bytes(_ count: Int) throws(WireError) -> UnsafeRawBufferPointer {
        do { return try read(count: count) } catch { throw .truncated }
    }
}
