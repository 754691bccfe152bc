/// A Bloom filter of the groups of letters in the texts of a block of the index, by which a search passes over blocks.
///
/// Of a word these are every three letters next to each other, its two ends counted as letters, and its first letter; of a run
/// without spaces every character and every pair; of symbols each. So it serves words, beginnings of words and parts of
/// words alike. A bit that is set may be chance: a filter rules out, and never finds.
///
/// The text of the index is folded, and folding it again changes nothing; so a filter can be made from it at any time.
struct TextFilter {
    /// In the texts of a block, as people write them, a quarter of these are set.
    static let bitCount = 4_096
    /// The largest number of bits that a search asks for, as in `may_hold_words.sql`.
    static let probeLimit = 8

    private var bytes = [UInt8](repeating: 0, count: bitCount / 8)

    mutating func add(_ text: FoldedText) {
        for word in text.words {
            Self.forEachBit(of: text.scalars[word.range], word.kind, hasStart: true, hasEnd: true) { bit in
                bytes[Int(bit >> 3)] |= 0x80 >> (bit & 7)
            }
        }
    }

    /// The digits of a `bit(4096)` in hexadecimal.
    var hexadecimal: String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { digits in
            for (index, byte) in bytes.enumerated() {
                digits[index * 2] = Self.digit(byte >> 4)
                digits[index * 2 + 1] = Self.digit(byte & 0xF)
            }
            return bytes.count * 2
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    // MARK: Groups of letters

    /// Stands for the end of a word. No text has it.
    private static let end: UInt32 = 0

    /// Calls `body` with the number of each bit of a piece of a word.
    static func forEachBit(
        of scalars: ArraySlice<UInt32>, _ kind: FoldedText.Kind, hasStart: Bool, hasEnd: Bool, _ body: (UInt32) -> Void
    ) {
        guard kind == .word else { return forEachBit(ofUnspaced: scalars, body) }
        var (first, second) = (end, end)
        // How many of the two letters before are there.
        var known = hasStart ? 1 : 0
        if hasStart, let letter = scalars.first { body(bit(end, letter)) }
        for letter in scalars {
            if known == 2 { body(bit(first, second, letter)) }
            (first, second) = (second, letter)
            known = min(known + 1, 2)
        }
        if hasEnd, known == 2 { body(bit(first, second, end)) }
    }

    private static func forEachBit(ofUnspaced scalars: ArraySlice<UInt32>, _ body: (UInt32) -> Void) {
        var previous: UInt32?
        for scalar in scalars {
            body(bit(scalar))
            if let previous { body(bit(previous, scalar)) }
            previous = scalar
        }
    }

    /// Kept in the database: another function needs a migration that removes all filters.
    private static func bit(_ first: UInt32, _ second: UInt32 = 0, _ third: UInt32 = 0) -> UInt32 {
        let mixed = (first &* 0x0100_0193 ^ second) &* 0x0100_0193 ^ third
        return (mixed &* 0x9E37_79B1) >> 20
    }
}
