/// Whether valid UTF-8 is empty or only white space (Unicode property White_Space).
func isBlank(_ text: UnsafeRawBufferPointer) -> Bool {
    // The common case: a text begins with a visible ASCII character.
    if let first = text.first, first > 0x20, first < 0x7F { return false }
    return String(decoding: text, as: UTF8.self).unicodeScalars.allSatisfy(\.properties.isWhitespace)
}
