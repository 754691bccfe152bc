import Models

extension ByteBuffer {
    /// Appends the 36 characters of the text form.
    public mutating func append(_ uuid: UUIDBytes) {
        append(count: 36) { uuid.writeText(to: $0) }
    }

    /// Appends the 16 bytes.
    public mutating func append(bigEndian uuid: UUIDBytes) {
        append(bigEndian: uuid.high)
        append(bigEndian: uuid.low)
    }
}

extension ByteReader {
    public mutating func readUUID() throws(TruncatedBytes) -> UUIDBytes {
        UUIDBytes(high: try read(), low: try read())
    }
}
