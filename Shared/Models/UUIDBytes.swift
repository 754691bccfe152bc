/// A UUID (RFC 9562) as two big-endian words: sixteen bytes in a register pair, hashed and compared without memory.
package struct UUIDBytes: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The version digit: 4 random, 7 time-ordered, 8 custom (RFC 9562, 4.2).
    package var version: UInt8 { UInt8(truncatingIfNeeded: high >> 12) & 0xF }

    /// Whether the variant bits say RFC 9562 (4.1).
    package var isStandardVariant: Bool { low >> 62 == 0b10 }

    package var lastByte: UInt8 { UInt8(truncatingIfNeeded: low) }

    /// Parses the 36 characters of the lower-case text form; upper case is not this contract's form.
    package init?(text: UnsafeRawBufferPointer) {
        guard text.count == 36 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for position in 0..<36 {
            let character = text[position]
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard character == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = Self.digit(character) else { return nil }
            if digits < 16 { words.0 = words.0 << 4 | digit } else { words.1 = words.1 << 4 | digit }
            digits += 1
        }
        self.init(high: words.0, low: words.1)
    }

    package init?(_ text: String) {
        var text = text
        guard let parsed = text.withUTF8({ Self(text: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = parsed
    }

    /// Calls `body` with each of the 36 characters of the text form and its position.
    package func withText(_ body: (UInt8, Int) -> Void) {
        var position = 0
        for nibble in 0..<32 {
            if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
                body(UInt8(ascii: "-"), position)
                position += 1
            }
            let word = nibble < 16 ? high : low
            let value = UInt8(truncatingIfNeeded: word >> UInt64((15 - nibble & 15) * 4)) & 0xF
            body(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value, position)
            position += 1
        }
    }

    private static func digit(_ character: UInt8) -> UInt64? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(character - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(character - UInt8(ascii: "a") + 10)
        default: nil
        }
    }
}

extension UUIDBytes: CustomStringConvertible {
    package var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            withText { character, position in text[position] = character }
            return 36
        }
    }
}

extension UUIDBytes: Comparable {
    /// The order of PostgreSQL's `uuid` type.
    package static func < (left: Self, right: Self) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}
