/// Validates UTF-8 that arrives in pieces: strict, without overlong forms, surrogates and values over U+10FFFF.
/// Source: Unicode 16, table 3-7.
struct UTF8Validator {
    /// The number of continuation bytes missing from the current character, and the range of the next one.
    private var missing: UInt8 = 0
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    /// Whether the bytes so far end with a whole character.
    var isComplete: Bool { missing == 0 }

    /// Checks the next bytes. Returns false when they are not valid UTF-8.
    mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        while position < bytes.count {
            if missing == 0 {
                position = Self.endOfASCII(bytes, from: position)
                guard position < bytes.count else { return true }
                guard begin(bytes[position]) else { return false }
            } else {
                guard (lowest...highest).contains(bytes[position]) else { return false }
                missing -= 1
                (lowest, highest) = (0x80, 0xBF)
            }
            position += 1
        }
        return true
    }

    private mutating func begin(_ lead: UInt8) -> Bool {
        switch lead {
        case 0xC2...0xDF: expect(1)
        case 0xE0: expect(2, from: 0xA0)
        case 0xED: expect(2, to: 0x9F)
        case 0xE1...0xEF: expect(2)
        case 0xF0: expect(3, from: 0x90)
        case 0xF1...0xF3: expect(3)
        case 0xF4: expect(3, to: 0x8F)
        default: return false
        }
        return true
    }

    private mutating func expect(_ count: UInt8, from low: UInt8 = 0x80, to high: UInt8 = 0xBF) {
        (missing, lowest, highest) = (count, low, high)
    }

    /// Skips ASCII, which most input is, eight bytes at a time.
    private static func endOfASCII(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var position = start
        while position + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            if word & 0x8080_8080_8080_8080 != 0 { break }
            position += 8
        }
        while position < bytes.count, bytes[position] < 0x80 { position += 1 }
        return position
    }
}
