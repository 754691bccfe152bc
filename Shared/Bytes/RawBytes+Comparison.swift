import Glibc

// Comparisons by the C library, because the collection algorithms visit raw bytes one at a time.
extension UnsafeRawBufferPointer {
    public func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return memcmp(start, otherStart, count) == 0
    }

    public func isEqual(to literal: StaticString) -> Bool {
        isEqual(to: UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    /// The position of the first `byte`.
    public func position(of byte: UInt8) -> Int? {
        guard let start = baseAddress, let found = memchr(start, CInt(byte), count) else { return nil }
        return UnsafeRawPointer(found) - start
    }

    /// The bytes in `start..<end`.
    public func part(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[start..<end])
    }
}
