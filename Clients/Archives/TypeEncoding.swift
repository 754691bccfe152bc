/// A type of Objective-C as a typedstream names it: `i`, `@`, `[12c]`, `{_NSRange=QQ}`.
indirect enum TypeEncoding: Hashable, Sendable {
    case character, unsignedCharacter, boolean
    case integer(isSigned: Bool)
    case float, double
    case unsharedString, sharedString, cString
    case classDescription, object
    /// Present in the encoding, without a byte in the stream.
    case ignored
    case array(count: Int, of: TypeEncoding)
    case structure([TypeEncoding])

    private static let maximumDepth = 16

    /// Returns the types that follow one another in the text; nil if it is no list of types.
    static func list(_ text: ArraySlice<UInt8>) -> [TypeEncoding]? { list(text, depth: 0) }

    private static func list(_ text: ArraySlice<UInt8>, depth: Int) -> [TypeEncoding]? {
        var rest = text
        var types: [TypeEncoding] = []
        while !rest.isEmpty {
            guard let type = next(&rest, depth: depth) else { return nil }
            types.append(type)
        }
        return types
    }

    private static func next(_ rest: inout ArraySlice<UInt8>, depth: Int) -> TypeEncoding? {
        guard let first = rest.first, depth < maximumDepth else { return nil }
        guard first == UInt8(ascii: "[") || first == UInt8(ascii: "{") else {
            rest.removeFirst()
            return plain(first)
        }
        guard let end = closing(rest) else { return nil }
        let content = rest[rest.startIndex + 1..<end]
        rest = rest[(end + 1)...]
        return first == UInt8(ascii: "[") ? array(content, depth: depth + 1) : structure(content, depth: depth + 1)
    }

    private static func plain(_ character: UInt8) -> TypeEncoding? {
        switch Character(Unicode.Scalar(character)) {
        case "c": .character
        case "C": .unsignedCharacter
        case "B": .boolean
        case "s", "i", "l", "q": .integer(isSigned: true)
        case "S", "I", "L", "Q": .integer(isSigned: false)
        case "f": .float
        case "d": .double
        case "+": .unsharedString
        case "%", ":": .sharedString
        case "*": .cString
        case "#": .classDescription
        case "@": .object
        case "!": .ignored
        default: nil
        }
    }

    private static func closing(_ text: ArraySlice<UInt8>) -> Int? {
        var open = 0
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: "("): open += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ")"):
                open -= 1
                if open == 0 { return index }
            default: break
            }
        }
        return nil
    }

    private static func array(_ content: ArraySlice<UInt8>, depth: Int) -> TypeEncoding? {
        let digits = content.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let count = Int(String(decoding: digits, as: UTF8.self)),
            let element = list(content.dropFirst(digits.count), depth: depth), element.count == 1
        else { return nil }
        return .array(count: count, of: element[0])
    }

    /// `name=fields`, or fields alone.
    private static func structure(_ content: ArraySlice<UInt8>, depth: Int) -> TypeEncoding? {
        let name = content.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "{") }
        let isNamed = name.endIndex < content.endIndex && content[name.endIndex] == UInt8(ascii: "=")
        let fields = isNamed ? content[(name.endIndex + 1)...] : content
        return list(fields, depth: depth).map { .structure($0) }
    }
}
