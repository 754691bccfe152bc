/// A UUID (RFC 9562) as two big-endian words: sixteen bytes in a register pair, hashed and compared without memory
/// access.
public struct UUIDBytes: Hashable, Sendable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The zero UUID, of no version. It stands for an absent one in a fixed field.
    public static let zero = UUIDBytes(high: 0, low: 0)

    /// Creates sixteen bytes from a name: its FNV-1a forwards and backwards. They are the same in every process and for
    /// ever. This is no defence against names chosen to collide.
    public init(hashOf name: String) {
        self.init(high: Self.fnv1a(name.utf8), low: Self.fnv1a(name.utf8.reversed()))
    }

    /// The 64-bit FNV-1a hash. Source: RFC 9923.
    static func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    /// The version digit: 4 random, 7 time-ordered, 8 custom (RFC 9562, 4.2).
    public var version: UInt8 { UInt8(truncatingIfNeeded: high >> 12) & 0xF }

    /// Whether the variant bits are those of RFC 9562 (4.1).
    public var isStandardVariant: Bool { low >> 62 == 0b10 }

    public var lastByte: UInt8 { UInt8(truncatingIfNeeded: low) }
}

extension UUIDBytes: CustomStringConvertible {
    public var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            writeText(to: text.baseAddress!)
            return 36
        }
    }
}

extension UUIDBytes: Comparable {
    /// The order of PostgreSQL's `uuid` type.
    public static func < (left: Self, right: Self) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}
