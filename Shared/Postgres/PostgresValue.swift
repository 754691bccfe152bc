import Bytes
import Models

/// A Swift value with a binary form in PostgreSQL.
///
/// The forms are what each type's `…send` function writes: integers big-endian, `timestamptz` as microseconds since
/// 2000-01-01 in an `int8`, text without a terminator.
package protocol PostgresValue {
    static var postgresType: PostgresType { get }

    /// The length of the binary form in bytes.
    var encodedCount: Int { get }
    func encode(into buffer: inout ByteBuffer)

    /// Reads the binary form. `bytes` has the length PostgreSQL sent; fixed-width types stop the process on any other,
    /// since the column then has another type than the query's author believed.
    init(decoding bytes: UnsafeRawBufferPointer)
}

/// Shared by the integers, whose binary form is their big-endian bytes.
extension PostgresValue where Self: FixedWidthInteger {
    package var encodedCount: Int { MemoryLayout<Self>.size }
    package func encode(into buffer: inout ByteBuffer) { buffer.append(bigEndian: self) }

    package init(decoding bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count == MemoryLayout<Self>.size, "the column is no \(Self.self), or it is NULL")
        self.init(bigEndian: bytes.loadUnaligned(as: Self.self))
    }
}

extension Int16: PostgresValue { package static var postgresType: PostgresType { .int2 } }
extension Int32: PostgresValue { package static var postgresType: PostgresType { .int4 } }
extension Int64: PostgresValue { package static var postgresType: PostgresType { .int8 } }

extension Bool: PostgresValue {
    package static var postgresType: PostgresType { .bool }
    package var encodedCount: Int { 1 }
    package func encode(into buffer: inout ByteBuffer) { buffer.append(self ? 1 : 0) }

    package init(decoding bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count == 1, "the column is no Bool, or it is NULL")
        self = bytes[0] != 0
    }
}

extension UUIDBytes: PostgresValue {
    package static var postgresType: PostgresType { .uuid }
    package var encodedCount: Int { 16 }
    package func encode(into buffer: inout ByteBuffer) { buffer.append(bigEndian: self) }

    package init(decoding bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count == 16, "the column is no uuid, or it is NULL")
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
}

extension Timestamp: PostgresValue {
    package static var postgresType: PostgresType { .timestamptz }
    package var encodedCount: Int { 8 }
    package func encode(into buffer: inout ByteBuffer) { postgresMicroseconds.encode(into: &buffer) }
    package init(decoding bytes: UnsafeRawBufferPointer) { self.init(postgresMicroseconds: Int64(decoding: bytes)) }
}

/// Text as it lies in memory, for the paths that make no `String`. Decoded, it lives as long as its `Rows`.
extension UnsafeRawBufferPointer: PostgresValue {
    package static var postgresType: PostgresType { .text }
    package var encodedCount: Int { count }
    package func encode(into buffer: inout ByteBuffer) { buffer.append(self) }
    package init(decoding bytes: UnsafeRawBufferPointer) { self = bytes }
}

extension String: PostgresValue {
    package static var postgresType: PostgresType { .text }
    package var encodedCount: Int { utf8.count }
    package func encode(into buffer: inout ByteBuffer) { buffer.append(utf8: self) }
    package init(decoding bytes: UnsafeRawBufferPointer) { self.init(decoding: bytes, as: UTF8.self) }
}

// MARK: Identifiers

extension ConversationID: PostgresValue {
    package static var postgresType: PostgresType { .uuid }
    package var encodedCount: Int { 16 }
    package func encode(into buffer: inout ByteBuffer) { uuid.encode(into: &buffer) }
    package init(decoding bytes: UnsafeRawBufferPointer) { self.init(UUIDBytes(decoding: bytes)) }
}

extension MessageID: PostgresValue {
    package static var postgresType: PostgresType { .uuid }
    package var encodedCount: Int { 16 }
    package func encode(into buffer: inout ByteBuffer) { uuid.encode(into: &buffer) }
    package init(decoding bytes: UnsafeRawBufferPointer) { self.init(UUIDBytes(decoding: bytes)) }
}

extension UserID: PostgresValue {
    package static var postgresType: PostgresType { .text }
    package var encodedCount: Int { name.utf8.count }
    package func encode(into buffer: inout ByteBuffer) { name.encode(into: &buffer) }
    package init(decoding bytes: UnsafeRawBufferPointer) { self.init(trusted: bytes) }
}

/// Slots are `smallint` columns.
extension Slot: PostgresValue {
    package static var postgresType: PostgresType { .int2 }
    package var encodedCount: Int { 2 }
    package func encode(into buffer: inout ByteBuffer) { Int16(number).encode(into: &buffer) }
    package init(decoding bytes: UnsafeRawBufferPointer) { self.init(UInt8(Int16(decoding: bytes))) }
}
