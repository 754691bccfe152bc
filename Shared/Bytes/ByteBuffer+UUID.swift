import Models

extension ByteBuffer {
    /// The 36 characters of the text form.
    package mutating func append(_ uuid: UUIDBytes) {
        reserve(36)
        let start = storage + count
        uuid.withText { character, position in start[position] = character }
        count += 36
    }

    /// The sixteen bytes.
    package mutating func append(bigEndian uuid: UUIDBytes) {
        append(bigEndian: uuid.high)
        append(bigEndian: uuid.low)
    }
}

extension ByteReader {
    package mutating func readUUID() throws(TruncatedBytes) -> UUIDBytes {
        UUIDBytes(high: try read(), low: try read())
    }
}
