import Bytes
import Models

extension ByteBuffer {
    /// Appends the 24 characters `2026-11-21T10:47:00.123Z` (RFC 3339, 5.6), without quotes.
    public mutating func append(rfc3339 timestamp: Timestamp) {
        append(count: Timestamp.textLength) { timestamp.writeText(to: $0) }
    }
}
