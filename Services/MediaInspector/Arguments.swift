/// The command line: `media-inspector [--serve] [--megapixels 64] [--seconds 20] [--memory 1024M]`.
struct Arguments {
    var pixels = 64_000_000
    var seconds = 20
    var memoryBytes = 1 << 30
    var isServer = false
    var attempt: Attempt?

    static let usage =
        "usage: media-inspector [--serve] [--megapixels N] [--seconds N] [--memory BYTES, or with K, M, G] "
        + "< FILE | reader of frames\n"

    var limits: Limits { Limits(seconds: seconds, memoryBytes: memoryBytes) }

    /// None if it cannot be understood.
    init?(_ words: some Sequence<String>) {
        var words = words.makeIterator()
        while let word = words.next() {
            if word == "--serve" {
                isServer = true
            } else {
                guard let value = words.next(), set(word, to: value) else { return nil }
            }
        }
    }

    private mutating func set(_ name: String, to value: String) -> Bool {
        switch name {
        case "--megapixels": Self.positive(value, upTo: 1_000).map { pixels = $0 * 1_000_000 } != nil
        case "--seconds": Self.positive(value, upTo: 3_600).map { seconds = $0 } != nil
        case "--memory": Self.bytes(value).map { memoryBytes = $0 } != nil
        case "--attempt": Attempt(rawValue: value).map { attempt = $0 } != nil
        default: false
        }
    }

    private static func positive(_ text: some StringProtocol, upTo limit: Int) -> Int? {
        Int(text).flatMap { $0 > 0 && $0 <= limit ? $0 : nil }
    }

    private static func bytes(_ text: String) -> Int? {
        let shift = ["K": 10, "M": 20, "G": 30][text.suffix(1)] ?? 0
        return positive(shift == 0 ? text[...] : text.dropLast(), upTo: 1 << 30).map { $0 << shift }
    }
}
