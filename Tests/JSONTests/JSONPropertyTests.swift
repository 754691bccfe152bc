import Foundation
import JSON
import TestSupport
import Testing

/// Each test prints its seed when it fails, and the seed alone reproduces the failure.
@Suite struct JSONPropertyTests {
    @Test("written documents are read back, and Foundation reads the same", arguments: UInt64(0)..<300)
    func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let value = JSONValue.random(depth: 4, using: &random)
        let document = value.document
        #expect(try JSONValue(document: document) == value)
        let foundation = try JSONSerialization.jsonObject(with: Data(document), options: .fragmentsAllowed)
        #expect(JSONValue(foundation: foundation) == value)
    }

    @Test("documents written by Foundation are read", arguments: UInt64(0)..<100)
    func foundationWrites(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let value = JSONValue.array([.random(depth: 4, using: &random)])
        let foundation = try JSONSerialization.jsonObject(with: Data(value.document))
        let document = try JSONSerialization.data(withJSONObject: foundation, options: [.prettyPrinted, .sortedKeys])
        #expect(try JSONValue(document: Array(document)) == value)
    }

    @Test(
        "a damaged document is read or refused, and read only if Foundation reads it",
        arguments: UInt64(0)..<300)
    func mutations(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let original = JSONValue.random(depth: 3, using: &random).document
        for _ in 0..<40 {
            var document = original
            for _ in 0...Int.random(in: 0..<3, using: &random) { mutate(&document, using: &random) }
            guard let value = try? JSONValue(document: document) else { continue }
            let foundation = try JSONSerialization.jsonObject(with: Data(document), options: .fragmentsAllowed)
            #expect(JSONValue(foundation: foundation) == value, "\(String(decoding: document, as: UTF8.self))")
        }
    }

    @Test("random bytes are refused", arguments: UInt64(0)..<200)
    func noise(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let alphabet = Array(#"{}[]:,"\u0dD8ntf-1.e+ "#.utf8) + [0x80, 0xE2, 0xF0, 0xFF, 0x00]
        for _ in 0..<200 {
            let noise = (0..<Int.random(in: 0..<20, using: &random)).map { _ in alphabet.randomElement(using: &random)!
            }
            if let value = try? JSONValue(document: noise) {
                #expect((try? JSONValue(document: value.document)) == value)
            }
        }
    }

    private func mutate(_ document: inout [UInt8], using random: inout SeededRandom) {
        let position = Int.random(in: 0...document.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: document.insert(UInt8.random(in: 0...255, using: &random), at: position)
        case 1: document.insert(Array(#"{}[]:,"\0-.e"#.utf8).randomElement(using: &random)!, at: position)
        case 2 where position < document.count: document.remove(at: position)
        case 3 where position < document.count: document[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        default: document.removeSubrange(position...)
        }
    }
}
