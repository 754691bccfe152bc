import TestSupport

/// Inputs that are nearly right: what a parser takes, damaged, cut, repeated, joined with others.
struct Damage {
    private var random: SeededRandom
    private let corpus: [[UInt8]]

    init(to corpus: [[UInt8]], seed: UInt64) {
        self.corpus = corpus
        random = SeededRandom(seed: seed)
    }

    /// Bytes and words that parsers care about.
    private static let pieces: [[UInt8]] =
        [
            "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u0000", "\\ud800", "\\udc00\\ud800", "null", "true", "-0",
            "01", "1e999", "9223372036854775808",
            "-1", "+1", ".", "_", "__", "%00", "%", "\r\n", "\n", " ", "\u{0}", "\u{FEFF}", "\u{1F9D7}",
        ].map { Array($0.utf8) } + [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0, 0, 0, 0], [0x7F, 0xFF, 0xFF, 0xFF],
        ]

    mutating func next() -> [UInt8] {
        var bytes = corpus.randomElement(using: &random)!
        for _ in 0..<Int.random(in: 1...4, using: &random) { damage(&bytes) }
        return bytes
    }

    private mutating func damage(_ bytes: inout [UInt8]) {
        let position = Int.random(in: 0...bytes.count, using: &random)
        let end = Int.random(in: position...bytes.count, using: &random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0 where position < bytes.count: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1 where position < bytes.count: bytes[position] = .random(in: 0...255, using: &random)
        case 2: bytes.insert(contentsOf: Self.pieces.randomElement(using: &random)!, at: position)
        case 3: bytes.removeSubrange(position..<end)
        case 4: bytes.removeSubrange(position...)
        case 5: bytes.insert(contentsOf: bytes[position..<end], at: position)
        case 6: bytes.replaceSubrange(position..<end, with: Self.pieces.randomElement(using: &random)!)
        default:
            let other = corpus.randomElement(using: &random)!
            bytes.replaceSubrange(position..., with: other.suffix(Int.random(in: 0...other.count, using: &random)))
        }
    }
}
