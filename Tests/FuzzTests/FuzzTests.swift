import Foundation
import TestSupport
import Testing

/// What strangers can send is taken or refused, never a trap; and what is taken is what it seems.
///
/// `PARLEY_FUZZ_SEEDS=100000 swift test --filter FuzzTests` goes on for longer. `make fuzz` looks for inputs by coverage.
@Suite struct FuzzTests {
    private static let inputsPerSeed = 50

    @Test("what a reader is made for, it takes", arguments: Reader.all)
    func examples(reader: Reader) {
        for example in reader.examples { #expect(taken(example, by: reader) == true, "\(text(example))") }
    }

    @Test("damaged input is refused, or is what it seems", arguments: Reader.all)
    func damage(reader: Reader) {
        let seeds = getenv("PARLEY_FUZZ_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 60
        for seed in 0..<seeds {
            var damage = Damage(to: reader.examples, seed: seed)
            for _ in 0..<Self.inputsPerSeed {
                let input = damage.next()
                #expect(taken(input, by: reader) != false, "seed \(seed): \(text(input))")
            }
        }
    }

    /// Each was a crash or a disagreement once; `Tests/fuzz` puts them there.
    @Test("what was found once is not found again", arguments: Reader.all)
    func findings(reader: Reader) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Findings/\(reader.name)")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        for file in files {
            #expect(taken(Array(try Data(contentsOf: file)), by: reader) != false, "\(file.lastPathComponent)")
        }
    }

    /// On a copy of exactly this size: a read beyond its end is a sanitizer's to find.
    private func taken(_ input: [UInt8], by reader: Reader) -> Bool? {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: input.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: input)
        return reader.take(UnsafeRawBufferPointer(copy))
    }

    private func text(_ input: [UInt8]) -> String { String(decoding: input, as: UTF8.self) }
}
