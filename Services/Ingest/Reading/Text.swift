/// Whether valid UTF-8 shows nothing: it is empty or white space alone (Unicode property White_Space).
func isBlank(_ text: UnsafeRawBufferPointer) -> Bool {
    // Nearly every text begins with something visible.
    if let first = text.first, first > 0x20, first < 0x7F { return false }
    return String(decoding: text, as: UTF8.self).unicodeScalars.allSatisfy(\.properties.isWhitespace)
}
