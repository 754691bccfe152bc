import Models
import ServiceKit

extension Arguments {
    package func uuid(_ name: String) throws(UsageError) -> UUIDBytes? {
        guard let text = value(name) else { return nil }
        guard let uuid = UUIDBytes(text) else { throw UsageError("--\(name) must be a UUID in lower case") }
        return uuid
    }

    package func requiredUUID(_ name: String) throws(UsageError) -> UUIDBytes {
        guard let uuid = try uuid(name) else { throw UsageError("--\(name) is missing") }
        return uuid
    }
}

extension UUIDBytes {
    /// Makes a new UUID of version 7: milliseconds since 1970, then random bits (RFC 9562, 5.7).
    package static func makeTimeOrdered() -> UUIDBytes {
        UUIDBytes(
            milliseconds: UInt64(max(0, Timestamp.now.milliseconds)),
            random: (.random(in: 0 ... .max), .random(in: 0 ... .max)))
    }

    /// Makes a version 7 UUID of the given parts: 48 bits of time, 12 and 62 random bits.
    package init(milliseconds: UInt64, random: (UInt64, UInt64)) {
        self.init(
            high: milliseconds << 16 | 0x7000 | random.0 & 0x0FFF,
            low: 0x8000_0000_0000_0000 | random.1 & 0x3FFF_FFFF_FFFF_FFFF)
    }
}
