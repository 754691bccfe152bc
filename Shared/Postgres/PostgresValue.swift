import Bytes
import Models

/// A Swift value with a binary form in PostgreSQL.
///
/// The forms are those of each type's `…send` function: integers big-endian, `timestamptz` as microseconds since
/// 2000-01-01 in an `int8`, text without a terminator.
public protocol PostgresValue: StatementValue {
    static var postgresType: PostgresType { get }

    /// The length of the binary form in bytes.
    var encodedCount: Int { get }
    func encode(into buffer: inout ByteBuffer)

    /// Reads the binary form. `bytes` has the length PostgreSQL sent. Fixed-width types stop the process on any other
    /// length, because the column then does not have the type that the query declares.
    init(decoding bytes: UnsafeRawBufferPointer)
}

/// The binary form of integers: their big-endian bytes.
extension PostgresValue where Self: FixedWidthInteger {
    public var encodedCount: Int { MemoryLayout<Self>.size }
    public func encode(into buffer: inout ByteBuffer) { buffer.append(bigEndian: self) }

    public init(decoding bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count == MemoryLayout<Self>.size, "the column is no \(Self.self), or it is NULL")
        self.init(bigEndian: bytes.loadUnaligned(as: Self.self))
    }
}

extension Int16: PostgresValue { public static var postgresType: PostgresType { .int2 } }
extension Int32: PostgresValue { public static var postgresType: PostgresType { .int4 } }
extension Int64: PostgresValue { public static var postgresType: PostgresType { .int8 } }

extension Bool: PostgresValue {
    public static var postgresType: PostgresType { .bool }
    public var encodedCount: Int { 1 }
    public func encode(into buffer: inout ByteBuffer) { buffer.append(self ? 1 : 0) }

    public init(decoding bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count == 1, "the column is no Bool, or it is NULL")
        self = bytes[0] != 0
    }
}

extension UUIDBytes: PostgresValue {
    public static var postgresType: PostgresType { .uuid }
    public var encodedCount: Int { 16 }
    public func encode(into buffer: inout ByteBuffer) { buffer.append(bigEndian: self) }

    public init(decoding bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count == 16, "the column is no uuid, or it is NULL")
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
}

extension Timestamp: PostgresValue {
    public static var postgresType: PostgresType { .timestamptz }
    public var encodedCount: Int { 8 }
    public func encode(into buffer: inout ByteBuffer) { postgresMicroseconds.encode(into: &buffer) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self.init(postgresMicroseconds: Int64(decoding: bytes)) }
}

/// Text as raw bytes, for paths that create no `String`. Decoded, it lives as long as its `Rows`.
extension UnsafeRawBufferPointer: PostgresValue {
    public static var postgresType: PostgresType { .text }
    public var encodedCount: Int { count }
    public func encode(into buffer: inout ByteBuffer) { buffer.append(self) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self = bytes }
}

extension String: PostgresValue {
    public static var postgresType: PostgresType { .text }
    public var encodedCount: Int { utf8.count }
    public func encode(into buffer: inout ByteBuffer) { buffer.append(utf8: self) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self.init(decoding: bytes, as: UTF8.self) }
}

// MARK: Identifiers

extension ConversationID: PostgresValue {
    public static var postgresType: PostgresType { .uuid }
    public var encodedCount: Int { 16 }
    public func encode(into buffer: inout ByteBuffer) { uuid.encode(into: &buffer) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self.init(UUIDBytes(decoding: bytes)) }
}

extension MessageID: PostgresValue {
    public static var postgresType: PostgresType { .uuid }
    public var encodedCount: Int { 16 }
    public func encode(into buffer: inout ByteBuffer) { uuid.encode(into: &buffer) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self.init(UUIDBytes(decoding: bytes)) }
}

extension MediaID: PostgresValue {
    public static var postgresType: PostgresType { .uuid }
    public var encodedCount: Int { 16 }
    public func encode(into buffer: inout ByteBuffer) { uuid.encode(into: &buffer) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self.init(UUIDBytes(decoding: bytes)) }
}

extension InvitationID: PostgresValue {
    public static var postgresType: PostgresType { .uuid }
    public var encodedCount: Int { 16 }
    public func encode(into buffer: inout ByteBuffer) { uuid.encode(into: &buffer) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self.init(UUIDBytes(decoding: bytes)) }
}

extension ReportID: PostgresValue {
    public static var postgresType: PostgresType { .uuid }
    public var encodedCount: Int { 16 }
    public func encode(into buffer: inout ByteBuffer) { uuid.encode(into: &buffer) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self.init(UUIDBytes(decoding: bytes)) }
}

extension UserID: PostgresValue {
    public static var postgresType: PostgresType { .text }
    public var encodedCount: Int { name.utf8.count }
    public func encode(into buffer: inout ByteBuffer) { name.encode(into: &buffer) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self.init(trusted: bytes) }
}

/// Slots are `smallint` columns.
extension Slot: PostgresValue {
    public static var postgresType: PostgresType { .int2 }
    public var encodedCount: Int { 2 }
    public func encode(into buffer: inout ByteBuffer) { Int16(number).encode(into: &buffer) }
    public init(decoding bytes: UnsafeRawBufferPointer) { self.init(UInt8(Int16(decoding: bytes))) }
}

// MARK: Enums

/// An enum whose cases are numbers in the database, in a `smallint`. `SQLNames.cases` gives them names in SQL.
public protocol PostgresEnum: PostgresValue, CaseIterable, RawRepresentable where RawValue: BinaryInteger {}

extension PostgresEnum {
    public static var postgresType: PostgresType { .int2 }
    public var encodedCount: Int { 2 }
    public func encode(into buffer: inout ByteBuffer) { Int16(rawValue).encode(into: &buffer) }

    public init(decoding bytes: UnsafeRawBufferPointer) {
        let number = Int16(decoding: bytes)
        guard let value = RawValue(exactly: number).flatMap(Self.init) else {
            preconditionFailure("\(number) is no \(Self.self)")
        }
        self = value
    }
}
