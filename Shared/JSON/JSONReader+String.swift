extension JSONReader {
    /// Validates the rest of a string after its opening quote, eight bytes at a time while they are plain ASCII.
    mutating func finishString() throws(JSONError) -> JSONString {
        let first = offset
        var hasEscapes = false
        while true {
            skipPlainCharacters()
            guard offset < count else { throw failure(.truncated) }
            switch start[offset] {
            case UInt8(ascii: "\""):
                offset += 1
                return JSONString(start: start + first, count: offset - 1 - first, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                try checkEscape()
            case 0x80...:
                try checkSequence()
            case ..<0x20:
                throw failure(.controlCharacter)
            default:
                offset += 1
            }
        }
    }

    /// Skips ASCII other than quotes, backslashes and control characters, in words of eight bytes.
    private mutating func skipPlainCharacters() {
        let bytes = UnsafeRawPointer(start)
        while offset + 8 <= count {
            let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let special = SpecialBytes.mask(in: UInt64(littleEndian: word))
            guard special == 0 else {
                offset += special.trailingZeroBitCount / 8
                return
            }
            offset += 8
        }
    }

    private mutating func checkEscape() throws(JSONError) {
        guard offset + 1 < count else { throw failure(.truncated, at: count) }
        switch start[offset + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            offset += 2
        case UInt8(ascii: "u"):
            try checkUnicodeEscape()
        default:
            throw failure(.invalidEscape)
        }
    }

    private mutating func checkUnicodeEscape() throws(JSONError) {
        switch try codeUnit(at: offset) {
        case 0: throw failure(.nulCharacter)
        case 0xDC00...0xDFFF: throw failure(.loneSurrogate)
        case 0xD800...0xDBFF:
            guard offset + 7 < count else { throw failure(.loneSurrogate) }
            guard start[offset + 6] == UInt8(ascii: "\\"), start[offset + 7] == UInt8(ascii: "u"),
                0xDC00...0xDFFF ~= (try codeUnit(at: offset + 6))
            else { throw failure(.loneSurrogate) }
            offset += 12
        default: offset += 6
        }
    }

    /// The value of the escape `\uXXXX` at `position`.
    private func codeUnit(at position: Int) throws(JSONError) -> UInt16 {
        guard position + 6 <= count else { throw failure(.truncated, at: count) }
        guard let unit = Escape.codeUnit(start + position) else { throw failure(.invalidEscape, at: position) }
        return unit
    }

    /// Skips one character of two to four bytes (Unicode, table 3-7).
    private mutating func checkSequence() throws(JSONError) {
        let length: Int
        switch (start[offset], offset + 1 < count ? start[offset + 1] : 0) {
        case (0xC2...0xDF, 0x80...0xBF): length = 2
        case (0xE0, 0xA0...0xBF), (0xE1...0xEC, 0x80...0xBF), (0xED, 0x80...0x9F), (0xEE...0xEF, 0x80...0xBF):
            length = 3
        case (0xF0, 0x90...0xBF), (0xF1...0xF3, 0x80...0xBF), (0xF4, 0x80...0x8F): length = 4
        default: throw failure(.invalidUTF8)
        }
        for position in offset + 2..<max(offset + 2, offset + length) {
            guard position < count, start[position] & 0xC0 == 0x80 else { throw failure(.invalidUTF8) }
        }
        offset += length
    }
}

/// Finds the bytes in a word of eight that end, escape or invalidate a string.
enum SpecialBytes {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Sets the high bit of each byte that is a quote, a backslash, a control character or not ASCII. Bits above the
    /// lowest one set may be false positives (a borrow propagates upwards), so only the lowest gives a position.
    @inline(__always)
    static func mask(in word: UInt64) -> UInt64 {
        let quote = word ^ ones &* UInt64(UInt8(ascii: "\""))
        let backslash = word ^ ones &* UInt64(UInt8(ascii: "\\"))
        let isQuote = (quote &- ones) & ~quote
        let isBackslash = (backslash &- ones) & ~backslash
        let isControl = (word &- ones &* 0x20) & ~word
        return (isQuote | isBackslash | isControl | word) & highBits
    }
}
