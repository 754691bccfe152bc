import Models
import TestSupport
import Testing

@Suite struct UUIDTextTests {
    @Test("a UUID is written in lower case with its hyphens and read back", arguments: UInt64(0)..<100)
    func roundTrip(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let uuid = UUIDBytes(high: random.next(), low: random.next())
        let digits = String(uuid.high, radix: 16).leftPadded(to: 16) + String(uuid.low, radix: 16).leftPadded(to: 16)
        let text = uuid.description
        #expect(text.filter { $0 != "-" } == digits)
        #expect(text.enumerated().filter { $0.element == "-" }.map(\.offset) == [8, 13, 18, 23])
        #expect(UUIDBytes(text) == uuid)
    }

    @Test("no other character may stand in any place")
    func refused() {
        let text = Array("0193a6b4-1f2c-7d3e-8a9b-0123456789ab".utf8)
        for position in text.indices {
            for character in UInt8.min...UInt8.max where character != text[position] {
                var changed = text
                changed[position] = character
                let isDigit = "0123456789abcdef".utf8.contains(character)
                let isHyphen = text[position] == UInt8(ascii: "-")
                let parsed = changed.withUnsafeBytes { UUIDBytes(text: $0) }
                #expect((parsed != nil) == (isDigit && !isHyphen))
            }
        }
        #expect(UUIDBytes(String(decoding: text.dropLast(), as: UTF8.self)) == nil)
        #expect(UUIDBytes(String(decoding: text, as: UTF8.self) + "a") == nil)
        #expect(UUIDBytes("") == nil)
    }
}

extension String {
    fileprivate func leftPadded(to length: Int) -> String { String(repeating: "0", count: length - count) + self }
}
