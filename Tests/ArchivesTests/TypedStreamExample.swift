/// Typedstreams as `NSArchiver` writes them.
enum TypedStreamExample {
    static let header: [UInt8] = [4, 11] + Array("streamtyped".utf8) + [0x81, 0xE8, 0x03]

    /// An attributed text with a run of each length, each a part of the message.
    static func body(_ text: String, parts: [Int]) -> [UInt8] {
        var bytes = beginning(text)
        for (index, count) in parts.enumerated() { bytes += run(index, count) }
        return bytes + [0x86]
    }

    /// A text of which each character is a run with one and the same attachment, by a name of this length.
    static func attachments(name: Int, places: Int) -> [UInt8] {
        let key = Array("__kIMFileTransferGUIDAttributeName".utf8)
        var bytes = beginning(String(repeating: "x", count: places)) + [0x84, 2, 0x69, 0x49, 1, 1]
        bytes += [0x92, 0x84, 0x84, 0x84, 12] + Array("NSDictionary".utf8) + [0, 0x94, 0x84, 1, 0x69, 1]
        bytes += [0x92, 0x84, 0x96, 0x96, UInt8(key.count)] + key + [0x86]
        bytes +=
            [0x92, 0x84, 0x96, 0x96] + integer(name) + Array(repeating: UInt8(ascii: "g"), count: name) + [0x86, 0x86]
        for _ in 1..<places { bytes += [0x97, 1, 1] }
        return bytes + [0x86]
    }

    /// Up to the runs.
    private static func beginning(_ text: String) -> [UInt8] {
        var bytes = header + [0x84, 0x01, 0x40]
        bytes += [0x84, 0x84, 0x84, 18] + Array("NSAttributedString".utf8) + [0]
        bytes += [0x84, 0x84, 8] + Array("NSObject".utf8) + [0, 0x85]
        bytes += [0x92, 0x84, 0x84, 0x84, 8] + Array("NSString".utf8) + [1, 0x94]
        return bytes + [0x84, 0x01, 0x2B] + integer(text.utf8.count) + Array(text.utf8) + [0x86]
    }

    private static func run(_ index: Int, _ count: Int) -> [UInt8] {
        guard index > 0 else { return [0x84, 2, 0x69, 0x49] + integer(1) + integer(count) + firstDictionary }
        // Encodings and names: @ 0x92, iI 0x97, i 0x99, * 0x9C. Items: NSDictionary 0x98, the key 0x99, NSNumber 0x9B, the C
        // string "i" 0x9D.
        return [0x97] + integer(index + 1) + integer(count)
            + [0x92, 0x84, 0x98, 0x99, 1, 0x92, 0x99, 0x92, 0x84, 0x9B, 0x9C, 0x9D, 0x99, UInt8(index), 0x86, 0x86]
    }

    private static let firstDictionary: [UInt8] = {
        let key = Array("__kIMMessagePartAttributeName".utf8)
        var bytes: [UInt8] = [0x92, 0x84, 0x84, 0x84, 12] + Array("NSDictionary".utf8) + [0, 0x94]
        bytes += [0x84, 1, 0x69, 1]
        bytes += [0x92, 0x84, 0x96, 0x96, UInt8(key.count)] + key + [0x86]
        bytes += [0x92, 0x84, 0x84, 0x84, 8] + Array("NSNumber".utf8) + [0]
        bytes += [0x84, 0x84, 7] + Array("NSValue".utf8) + [0, 0x94]
        return bytes + [0x84, 1, 0x2A, 0x84, 0x99, 0x99, 0, 0x86, 0x86]
    }()

    static func integer(_ number: Int) -> [UInt8] {
        switch number {
        case ..<0x80: [UInt8(number)]
        case ..<0x10000: [0x81, UInt8(number & 0xFF), UInt8(number >> 8)]
        default: [0x82] + (0..<4).map { UInt8(number >> (8 * $0) & 0xFF) }
        }
    }

    /// Arrays of nothing, objects in objects, encodings in encodings, a class above itself, lengths beyond the end.
    static let bombs: [[UInt8]] = [
        header + [0x84, 13] + Array("[9999999999!]".utf8),
        header + [0x84, 14] + Array("[999999999{a}]".utf8),
        header + [0x84, 1, 0x40] + Array(repeating: [0x84, 0x85, 0x92], count: 10_000).flatMap { $0 },
        header + [0x84, 0x81, 0x40, 0x9C] + Array(repeating: UInt8(ascii: "["), count: 40_000),
        header + [0x84, 0x82, 0xFF, 0xFF, 0xFF, 0x7F, 0x40],
        header + [0x84, 0x82, 0xFF, 0xFF, 0xFF, 0xFF, 0x40],
        header + [0x84, 1, 0x23, 0x84, 0x84, 1, 0x41, 0, 0x9F],
        header + [0x84, 2, 0x40, 0x63, 0x92],
    ]
}
