/// JSON as a server sent it, made so that it does nothing to the terminal that it is written to: control characters beyond
/// those that JSON escapes itself, U+007F to U+009F, as escapes.
package enum HarmlessJSON {
    package static func text(_ json: UnsafeRawBufferPointer) -> String {
        var harmless: [UInt8] = []
        harmless.reserveCapacity(json.count)
        var index = 0
        while index < json.count {
            // In UTF-8 the latter are C2 80 to C2 9F. No other character contains these two bytes.
            if json[index] == 0xC2, index + 1 < json.count, json[index + 1] < 0xA0 {
                harmless += escape(json[index + 1])
                index += 2
            } else {
                harmless += json[index] == 0x7F ? escape(0x7F) : [json[index]]
                index += 1
            }
        }
        return String(decoding: harmless, as: UTF8.self)
    }

    private static func escape(_ character: UInt8) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return Array("\\u00".utf8) + [digits[Int(character >> 4)], digits[Int(character & 15)]]
    }
}
