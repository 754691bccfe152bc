import Glibc

/// A growable buffer of bytes that is emptied and reused, so that the steady state allocates nothing.
///
/// Every frame, JSON document and parameter array on a hot path is written into one. Move-only, because two owners
/// would share the same memory.
public struct ByteBuffer: ~Copyable {
    // `@inlinable` members are specialised by the caller's module: an unspecialised append of an integer takes 20 ns.
    @usableFromInline var storage: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    @usableFromInline var used = 0

    public init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        storage = .allocate(capacity: self.capacity)
    }

    deinit { storage.deallocate() }

    public var count: Int { used }
    public var isEmpty: Bool { count == 0 }

    /// The bytes written so far. Valid until the next mutation.
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: storage, count: count) }

    public var last: UInt8? { count == 0 ? nil : storage[count - 1] }

    /// A copy of the bytes written so far.
    public var array: [UInt8] { Array(bytes) }

    /// Removes the bytes and keeps the memory.
    public mutating func removeAll() { used = 0 }

    /// Removes all bytes after the first `newCount`.
    public mutating func truncate(to newCount: Int) {
        precondition(newCount <= count, "a buffer cannot be truncated to more bytes than it has")
        used = newCount
    }

    /// Removes the first `size` bytes and moves the others to the front.
    public mutating func removeFirst(_ size: Int) {
        precondition(size <= count, "only written bytes are removed")
        memmove(storage, storage + size, count - size)
        used -= size
    }

    /// Makes room for `additional` bytes, so that the appends that follow do not grow the buffer.
    @inlinable
    public mutating func reserve(_ additional: Int) {
        if count + additional > capacity { grow(additional) }
    }

    @inlinable
    public mutating func append(_ byte: UInt8) {
        reserve(1)
        storage[count] = byte
        used += 1
    }

    public mutating func append<Integer: FixedWidthInteger>(bigEndian value: Integer) { appendInteger(value) }

    @inline(__always)
    private mutating func appendInteger<Integer: FixedWidthInteger>(_ value: Integer) {
        let size = MemoryLayout<Integer>.size
        reserve(size)
        UnsafeMutableRawPointer(storage + count).storeBytes(of: value.bigEndian, as: Integer.self)
        used += size
    }

    // As in `ByteReader`: specialised here, because other modules do not specialise the generic function.
    public mutating func append(bigEndian value: Int16) { appendInteger(value) }
    public mutating func append(bigEndian value: Int32) { appendInteger(value) }
    public mutating func append(bigEndian value: Int64) { appendInteger(value) }
    public mutating func append(bigEndian value: UInt16) { appendInteger(value) }
    public mutating func append(bigEndian value: UInt32) { appendInteger(value) }
    public mutating func append(bigEndian value: UInt64) { appendInteger(value) }

    @inlinable
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count)
        memcpy(storage + count, start, bytes.count)
        used += bytes.count
    }

    /// Appends `length` bytes, all of which `body` must write.
    public mutating func append(count length: Int, writtenBy body: (UnsafeMutablePointer<UInt8>) -> Void) {
        reserve(length)
        body(storage + count)
        used += length
    }

    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    public mutating func append(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { append($0) }
    }

    public mutating func append(_ literal: StaticString) {
        append(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    public mutating func append(utf8 text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Overwrites bytes that were appended before, such as a length that is known only at the end.
    @inlinable
    public mutating func overwrite<Integer: FixedWidthInteger>(at offset: Int, bigEndian value: Integer) {
        precondition(offset >= 0 && offset + MemoryLayout<Integer>.size <= count, "only written bytes are overwritten")
        UnsafeMutableRawPointer(storage + offset).storeBytes(of: value.bigEndian, as: Integer.self)
    }

    /// Appends the decimal digits of `value` in ASCII.
    public mutating func append(decimal value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        reserve(20)
        var digits = 1
        var power: UInt64 = 10
        while digits < 20, rest >= power {
            digits += 1
            let (product, overflow) = power.multipliedReportingOverflow(by: 10)
            if overflow { break }
            power = product
        }
        var position = count + digits
        used = position
        repeat {
            position -= 1
            storage[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
    }

    @inline(never) @usableFromInline
    mutating func grow(_ additional: Int) {
        let larger = max(capacity * 2, count + additional)
        let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        memcpy(moved, storage, count)
        storage.deallocate()
        storage = moved
        capacity = larger
    }
}
