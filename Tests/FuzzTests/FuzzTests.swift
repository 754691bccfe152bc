import Glibc
import TestSupport
import Testing

/// What strangers can send is taken or refused, never a trap; and what is taken is what it seems. Frames of the bus, JSON,
/// WebSocket frames and HTTP are damaged in the tests of their own modules.
///
/// `PARLEY_FUZZ_SEEDS=100000 swift test --filter FuzzTests` goes on for longer.
@Suite struct FuzzTests {
    private static let inputsPerSeed = 50

    @Test("what a reader is made for, it takes", arguments: Parser.allCases)
    func corpus(parser: Parser) {
        for example in parser.corpus {
            example.withUnsafeBytes { #expect(parser.take($0) == true, "\(String(decoding: $0, as: UTF8.self))") }
        }
    }

    @Test("damaged input is refused, or is what it seems", arguments: Parser.allCases)
    func damage(parser: Parser) {
        let seeds = getenv("PARLEY_FUZZ_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 60
        for seed in 0..<seeds {
            var damage = Damage(to: parser.corpus, seed: seed)
            for _ in 0..<Self.inputsPerSeed {
                let input = damage.next()
                // A copy of exactly this size: a read beyond its end is a sanitizer's to find.
                let taken = input.withUnsafeBytes { parser.take($0) }
                #expect(taken != false, "seed \(seed): \(String(decoding: input, as: UTF8.self))")
            }
        }
    }
}
