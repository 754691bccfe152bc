import Bytes

extension ByteBuffer {
    /// Appends a string in quotes. `text` must be valid UTF-8; only characters that RFC 8259 requires are escaped.
    public mutating func appendJSON(utf8 text: UnsafeRawBufferPointer) {
        reserve(text.count + 2)
        append(UInt8(ascii: "\""))
        var copied = 0
        while let position = nextToEscape(in: text, from: copied) {
            append(UnsafeRawBufferPointer(rebasing: text[copied..<position]))
            append(escapeOf: text[position])
            copied = position + 1
        }
        append(UnsafeRawBufferPointer(rebasing: text[copied...]))
        append(UInt8(ascii: "\""))
    }

    /// Scans eight bytes at a time, and each byte of a word with any that is not plain ASCII.
    private func nextToEscape(in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var position = start
        while position + 8 <= text.count {
            let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            if SpecialBytes.mask(in: word) != 0, let found = firstToEscape(in: text, position..<position + 8) {
                return found
            }
            position += 8
        }
        return firstToEscape(in: text, position..<text.count)
    }

    private func firstToEscape(in text: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int? {
        for position in range where mustEscape(text[position]) { return position }
        return nil
    }

    private func mustEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func append(escapeOf byte: UInt8) {
        switch byte {
        case 0x08: append("\\b" as StaticString)
        case 0x09: append("\\t" as StaticString)
        case 0x0A: append("\\n" as StaticString)
        case 0x0C: append("\\f" as StaticString)
        case 0x0D: append("\\r" as StaticString)
        case UInt8(ascii: "\""): append("\\\"" as StaticString)
        case UInt8(ascii: "\\"): append("\\\\" as StaticString)
        default:
            append("\\u00" as StaticString)
            append(hexDigit: byte >> 4)
            append(hexDigit: byte & 0xF)
        }
    }

    private mutating func append(hexDigit digit: UInt8) {
        append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
    }
}
