import Glibc

/// The bytes end before the value, or a length exceeds them.
public struct TruncatedBytes: Error, Equatable { public init() {} }

/// Reads consecutive big-endian fields.
///
/// It borrows the memory: valid as long as the bytes it was made from.
public struct ByteReader {
    // `@inlinable` members are specialised by the caller's module, as in `ByteBuffer`.
    @usableFromInline let bytes: UnsafeRawBufferPointer
    @usableFromInline var position = 0

    public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    public var offset: Int { position }
    public var remaining: Int { bytes.count - offset }
    public var isAtEnd: Bool { offset == bytes.count }

    public mutating func read<Integer: FixedWidthInteger>(_: Integer.Type = Integer.self) throws(TruncatedBytes)
        -> Integer
    { try readInteger() }

    @inline(__always)
    private mutating func readInteger<Integer: FixedWidthInteger>() throws(TruncatedBytes) -> Integer {
        let size = MemoryLayout<Integer>.size
        guard remaining >= size else { throw TruncatedBytes() }
        defer { position += size }
        return Integer(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self))
    }

    /// The next `count` bytes, without a copy.
    public mutating func read(count: Int) throws(TruncatedBytes) -> UnsafeRawBufferPointer {
        guard count >= 0, remaining >= count else { throw TruncatedBytes() }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    /// The remaining bytes.
    public mutating func readRest() -> UnsafeRawBufferPointer {
        defer { position = bytes.count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset...])
    }
}

// One overload per width, specialised here for other modules. These would not specialise the generic function: it would
// look up its type at run time, at ten times the cost.
extension ByteReader {
    public mutating func read(_: UInt8.Type = UInt8.self) throws(TruncatedBytes) -> UInt8 { try readInteger() }
    public mutating func read(_: UInt16.Type = UInt16.self) throws(TruncatedBytes) -> UInt16 { try readInteger() }
    public mutating func read(_: UInt32.Type = UInt32.self) throws(TruncatedBytes) -> UInt32 { try readInteger() }
    public mutating func read(_: UInt64.Type = UInt64.self) throws(TruncatedBytes) -> UInt64 { try readInteger() }
    public mutating func read(_: Int64.Type = Int64.self) throws(TruncatedBytes) -> Int64 { try readInteger() }
}
