import Bytes
import Glibc
import Models

/// Walks over bytes with an expected layout. Every step returns whether the bytes matched.
struct LiteralScanner {
    private(set) var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    mutating func skip(_ literal: StaticString) -> Bool {
        let length = literal.utf8CodeUnitCount
        guard rest.count >= length, rest.part(0, length).isEqual(to: literal) else { return false }
        drop(length)
        return true
    }

    mutating func skipPastQuote() -> Bool {
        guard let quote = rest.position(of: UInt8(ascii: "\"")) else { return false }
        drop(quote + 1)
        return true
    }

    mutating func uuid() -> UUIDBytes? {
        guard rest.count >= 36, let uuid = UUIDBytes(text: rest.part(0, 36)) else { return nil }
        drop(36)
        return uuid
    }

    mutating func decimal() -> Int64? {
        var value: Int64 = 0
        var length = 0
        while length < min(rest.count, 18), rest[length] &- UInt8(ascii: "0") < 10 {
            value = value * 10 + Int64(rest[length] &- UInt8(ascii: "0"))
            length += 1
        }
        drop(length)
        return length > 0 ? value : nil
    }

    private mutating func drop(_ count: Int) { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }
}
