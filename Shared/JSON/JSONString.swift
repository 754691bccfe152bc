import Glibc

/// The content of a string or key, validated, in the document's memory, decoded only when needed.
///
/// `switch key { case "id": … }` compares bytes and builds no `String`.
public struct JSONString {
    private let start: UnsafePointer<UInt8>
    private let count: Int
    public let hasEscapes: Bool

    init(start: UnsafePointer<UInt8>, count: Int, hasEscapes: Bool) {
        self.start = start
        self.count = count
        self.hasEscapes = hasEscapes
    }

    /// The encoded bytes between the quotes. They are valid JSON string content, and may be written to another document
    /// unchanged.
    public var encoded: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Calls `body` with the decoded bytes, which are the document's own unless there are escapes.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard hasEscapes else { return try body(encoded) }
        let decoded = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { decoded.deallocate() }
        let length = Escape.decode(encoded, into: decoded)
        return try body(UnsafeRawBufferPointer(rebasing: decoded[..<length]))
    }

    public var string: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    public static func ~= (pattern: StaticString, string: Self) -> Bool { string == pattern }

    public static func == (string: Self, literal: StaticString) -> Bool {
        if string.hasEscapes { return string.isEqualDecoded(to: literal) }
        return string.count == literal.utf8CodeUnitCount && memcmp(string.start, literal.utf8Start, string.count) == 0
    }

    private func isEqualDecoded(to literal: StaticString) -> Bool {
        withBytes { $0.elementsEqual(literal.bytes) }
    }
}

extension StaticString {
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}

/// The escape sequences of strings (RFC 8259, 7).
enum Escape {
    /// The value of `\uXXXX`, whose six bytes must be readable; nil for invalid digits.
    static func codeUnit(_ escape: UnsafePointer<UInt8>) -> UInt16? {
        var unit: UInt16 = 0
        for position in 2..<6 {
            guard let digit = hexDigit(escape[position]) else { return nil }
            unit = unit << 4 | digit
        }
        return unit
    }

    /// Decodes validated content and returns the length, which is never larger than the content's.
    static func decode(_ content: UnsafeRawBufferPointer, into decoded: UnsafeMutableRawBufferPointer) -> Int {
        var length = 0
        var position = 0
        func put(_ byte: UInt8) {
            decoded[length] = byte
            length += 1
        }
        while position < content.count {
            guard content[position] == UInt8(ascii: "\\") else {
                put(content[position])
                position += 1
                continue
            }
            if content[position + 1] == UInt8(ascii: "u") {
                let (scalar, consumed) = scalar(content, at: position)
                UTF8.encode(scalar)?.forEach(put)
                position += consumed
            } else {
                put(character(content[position + 1]))
                position += 2
            }
        }
        return length
    }

    private static func character(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: letter
        }
    }

    private static func scalar(_ content: UnsafeRawBufferPointer, at position: Int) -> (Unicode.Scalar, consumed: Int) {
        let start = content.baseAddress!.assumingMemoryBound(to: UInt8.self) + position
        let high = codeUnit(start) ?? 0xFFFD
        guard 0xD800...0xDBFF ~= high else { return (Unicode.Scalar(high) ?? "\u{FFFD}", 6) }
        let low = codeUnit(start + 6) ?? 0xFFFD
        let value = 0x10000 + (UInt32(high) & 0x3FF) << 10 + UInt32(low) & 0x3FF
        return (Unicode.Scalar(value) ?? "\u{FFFD}", 12)
    }

    private static func hexDigit(_ character: UInt8) -> UInt16? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(character - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(character - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(character - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
