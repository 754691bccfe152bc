import Models
import Wire

/// The header field `Idempotency-Key`: a UUID of any version, in either case, that the client generates for one write.
enum IdempotencyKey {
    /// Nil without the field: a repetition then counts as new.
    static func of(_ value: UnsafeRawBufferPointer?) throws(Problem) -> UUIDBytes? {
        guard let value else { return nil }
        let lowercased = value.map { (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) ? $0 | 0x20 : $0 }
        // The nil UUID is most likely one that was not generated: two such writes would count as one.
        guard let key = lowercased.withUnsafeBytes({ UUIDBytes(text: $0) }), key != .zero else {
            throw Problem(.invalid, "Idempotency-Key: must be a UUID")
        }
        return key
    }
}
