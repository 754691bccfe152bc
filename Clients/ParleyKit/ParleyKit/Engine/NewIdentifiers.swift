import Models

/// Ids and keys for what the user makes.
struct NewIdentifiers {
    private var random = SystemRandomNumberGenerator()

    /// A UUID of version 7: ids that are made one after the other stand beside each other in the server's indexes.
    mutating func uuid(at time: Timestamp) -> UUIDBytes {
        UUIDBytes(
            high: UInt64(bitPattern: time.milliseconds) << 16 | 0x7000 | random.next() & 0x0FFF,
            low: random.next() >> 2 | 1 << 63)
    }

    /// A UUID of version 4.
    mutating func key() -> UUIDBytes {
        UUIDBytes(high: random.next() & ~0xF000 | 0x4000, low: random.next() >> 2 | 1 << 63)
    }
}
