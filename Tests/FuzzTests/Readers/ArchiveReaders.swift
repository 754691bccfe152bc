import Archives

extension Reader {
    /// The texts of Apple's Messages. A text may be read from a stream that is damaged behind it; whatever the bytes, there
    /// is not more in them than they can hold.
    static let typedStream = Reader("typedStream", examples: [plainText, attributedText]) { bytes in
        let bytes = Array(bytes)
        guard let body = AttributedText(bytes) else { return nil }
        // A byte that is no UTF-8 becomes a replacement character, of three.
        return TypedStream(bytes).items.count <= bytes.count && body.text.utf8.count <= 3 * bytes.count
    }

    private static let header: [UInt8] = [4, 11] + Array("streamtyped".utf8) + [0x81, 0xE8, 0x03, 0x84, 1, 0x40]
    private static let object: [UInt8] = [0x84, 0x84, 8] + Array("NSObject".utf8) + [0, 0x85]
    private static let text = Array("Sunday, nine? 🧗".utf8)

    private static let plainText: [UInt8] =
        header + [0x84, 0x84, 0x84, 8] + Array("NSString".utf8) + [1] + object + [0x84, 1, 0x2B, UInt8(text.count)]
        + text
        + [0x86]

    /// With one run of 16 units and no attributes.
    private static let attributedText: [UInt8] =
        header + [0x84, 0x84, 0x84, 18] + Array("NSAttributedString".utf8) + [0] + object
        + [0x92, 0x84, 0x84, 0x84, 8] + Array("NSString".utf8) + [1, 0x94, 0x84, 1, 0x2B, UInt8(text.count)] + text
        + [0x86, 0x84, 2, 0x69, 0x49, 1, 16]
        + [0x92, 0x84, 0x84, 0x84, 12] + Array("NSDictionary".utf8) + [0, 0x94, 0x84, 1, 0x69, 0, 0x86, 0x86]
}
