/// Reads SQL piece by piece, so that the contents of strings and comments are not mistaken for code.
///
/// It knows strings, also with backslashes (`E'…'`), quoted names, bodies between `$tags$`, and comments, also nested
/// ones.
struct SQLScanner {
    enum Piece: Equatable {
        /// One character of code.
        case code(UInt8)
        /// A string, a quoted name or a body between tags, unchanged.
        case verbatim(Range<Int>)
        /// A comment up to the end of its line.
        case lineComment
        case blockComment
    }

    let bytes: [UInt8]
    private(set) var position = 0

    init(_ sql: String) { bytes = Array(sql.utf8) }

    mutating func next() -> Piece? {
        guard position < bytes.count else { return nil }
        let start = position
        switch bytes[position] {
        case UInt8(ascii: "'"): return takeQuoted(hasBackslashes: isEscapeString)
        case UInt8(ascii: "\""): return takeQuoted(hasBackslashes: false)
        case UInt8(ascii: "-") where isNext("-"): return skipLine()
        case UInt8(ascii: "/") where isNext("*"): return skipComment()
        case UInt8(ascii: "$"): return takeBody()
        default:
            position += 1
            return .code(bytes[start])
        }
    }

    /// The next character.
    var following: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Takes characters while `condition` holds.
    mutating func take(while condition: (UInt8) -> Bool) -> String {
        let start = position
        while position < bytes.count, condition(bytes[position]) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    /// Of the characters of ASCII; SQL needs no others.
    static func isWhitespace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || 0x09...0x0D ~= byte }

    static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    private mutating func advance(_ count: Int) { position = min(position + count, bytes.count) }

    private func isNext(_ character: Unicode.Scalar) -> Bool {
        position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: character)
    }

    /// Whether the current quote follows an `E` that is a word by itself.
    private var isEscapeString: Bool {
        guard position > 0, bytes[position - 1] | 0x20 == UInt8(ascii: "e") else { return false }
        return position < 2 || !Self.isNameCharacter(bytes[position - 2])
    }

    /// Takes up to the closing quote. A doubled quote ends one part and begins the next, with the same result.
    private mutating func takeQuoted(hasBackslashes: Bool) -> Piece {
        let start = position, quote = bytes[position]
        advance(1)
        while position < bytes.count, bytes[position] != quote {
            advance(hasBackslashes && bytes[position] == UInt8(ascii: "\\") ? 2 : 1)
        }
        advance(1)
        return .verbatim(start..<position)
    }

    private mutating func skipLine() -> Piece {
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
        return .lineComment
    }

    private mutating func skipComment() -> Piece {
        var depth = 0
        repeat {
            if bytes[position] == UInt8(ascii: "/"), isNext("*") {
                depth += 1
                position += 2
            } else if bytes[position] == UInt8(ascii: "*"), isNext("/") {
                depth -= 1
                position += 2
            } else {
                position += 1
            }
        } while depth > 0 && position < bytes.count
        return .blockComment
    }

    /// Takes a body between two equal `$tags$`. Takes only the dollar if it begins none: in a name, or before a number.
    private mutating func takeBody() -> Piece {
        let start = position
        let isInName = position > 0 && Self.isNameCharacter(bytes[position - 1])
        let name = bytes[(position + 1)...].prefix { Self.isNameCharacter($0) && $0 != UInt8(ascii: "$") }
        let end = position + 1 + name.count
        let isTag = end < bytes.count && bytes[end] == UInt8(ascii: "$") && !(name.first.map(Self.isDigit) ?? false)
        guard !isInName, isTag else {
            advance(1)
            return .code(bytes[start])
        }
        let tag = Array(bytes[position...end])
        advance(tag.count)
        while position < bytes.count, !bytes[position...].starts(with: tag) { advance(1) }
        advance(tag.count)
        return .verbatim(start..<position)
    }
}

extension StringProtocol {
    /// The text without white space around it.
    var trimmed: String {
        let text = Array(utf8.drop(while: SQLScanner.isWhitespace))
        let end = text.lastIndex { !SQLScanner.isWhitespace($0) }.map { $0 + 1 } ?? 0
        return String(decoding: text[..<end], as: UTF8.self)
    }
}
