import CCrypto
import Models

/// The direct conversation of two users. Its id is derived from the pair, so either user creates the same conversation,
/// any number of times, without a lookup.
enum DirectConversation {
    /// A UUID of version 8 (RFC 9562, 5.8): the first 128 bits of the SHA-256 over `parley.direct`, and both names in
    /// byte order, each after a zero byte, with version and variant set. Stored conversations have these ids: this must
    /// never change.
    static func id(_ one: UserID, _ other: UserID) -> ConversationID {
        let (first, second) = one < other ? (one, other) : (other, one)
        let input = Array("parley.direct\0\(first.name)\0\(second.name)".utf8)
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(input, input.count, &digest)
        let high = word(digest[..<8]) & ~0xF000 | 0x8000
        let low = word(digest[8..<16]) & ~(0b11 << 62) | 0b10 << 62
        return ConversationID(UUIDBytes(high: high, low: low))
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
