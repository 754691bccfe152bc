/// The direct conversation of two users. Its id is derived from the pair, so either user creates the same conversation,
/// any number of times, without a lookup.
package enum DirectConversation {
    /// A UUID of version 8 (RFC 9562, 5.8): the first 128 bits of the SHA-256 over `parley.direct`, and both names in
    /// byte order, each after a zero byte, with version and variant set. Stored conversations have these ids: this must
    /// never change.
    ///
    /// - Parameter sha256: the hash of a text's UTF-8, which each module has from its platform.
    package static func id(_ one: UserID, _ other: UserID, sha256: (String) -> [UInt8]) -> ConversationID {
        let (first, second) = one < other ? (one, other) : (other, one)
        return ConversationID(
            UUIDBytes(digest: sha256("parley.direct\0\(first.name)\0\(second.name)"), version: 8))
    }
}

extension UUIDBytes {
    /// The first 128 bits of a digest, with version and variant set.
    package init(digest: [UInt8], version: UInt8) {
        func word(_ range: Range<Int>) -> UInt64 { digest[range].reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: word(0..<8) & ~0xF000 | UInt64(version) << 12, low: word(8..<16) & ~(0b11 << 62) | 0b10 << 62)
    }
}
