/// The statements of a text, without their semicolons and comments.
///
/// Knows what may hide a semicolon: strings, also with backslashes (`E'…'`), quoted names, bodies between `$tags$`,
/// comments, also nested ones. It does not know `BEGIN ATOMIC`, whose bodies have semicolons of their own.
struct SQLStatements {
    private let bytes: [UInt8]
    private var position = 0
    private var current: [UInt8] = []
    private var statements: [String] = []

    /// The statements of `sql`.
    static func of(_ sql: String) -> [String] {
        var reader = SQLStatements(bytes: Array(sql.utf8))
        return reader.read()
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func read() -> [String] {
        while position < bytes.count { step() }
        endStatement()
        return statements
    }

    private mutating func step() {
        switch bytes[position] {
        case UInt8(ascii: "'"): takeQuoted(hasBackslashes: isEscapeString)
        case UInt8(ascii: "\""): takeQuoted(hasBackslashes: false)
        case UInt8(ascii: "-") where isNext("-"): skipLine()
        case UInt8(ascii: "/") where isNext("*"): skipComment()
        case UInt8(ascii: "$"): takeBody()
        case UInt8(ascii: ";"):
            position += 1
            endStatement()
        default: take(1)
        }
    }

    private mutating func endStatement() {
        let text = String(decoding: current, as: UTF8.self).trimmed
        if !text.isEmpty { statements.append(text) }
        current = []
    }

    private mutating func take(_ count: Int) {
        let end = min(position + count, bytes.count)
        current += bytes[position..<end]
        position = end
    }

    private func isNext(_ character: Unicode.Scalar) -> Bool {
        position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: character)
    }

    /// Whether the quote at hand follows an `E` that is a word of its own.
    private var isEscapeString: Bool {
        guard position > 0, bytes[position - 1] | 0x20 == UInt8(ascii: "e") else { return false }
        return position < 2 || !isNameCharacter(bytes[position - 2])
    }

    /// A doubled quote ends one part and begins the next, which comes to the same.
    private mutating func takeQuoted(hasBackslashes: Bool) {
        let quote = bytes[position]
        take(1)
        while position < bytes.count, bytes[position] != quote {
            take(hasBackslashes && bytes[position] == UInt8(ascii: "\\") ? 2 : 1)
        }
        take(1)
    }

    private mutating func skipLine() {
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
    }

    private mutating func skipComment() {
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
        current.append(UInt8(ascii: " "))
    }

    /// What stands between two equal `$tags$`; or the dollar alone, where it begins none: in a name, or before a number.
    private mutating func takeBody() {
        let isInName = position > 0 && isNameCharacter(bytes[position - 1])
        let name = bytes[(position + 1)...].prefix { isNameCharacter($0) && $0 != UInt8(ascii: "$") }
        let end = position + 1 + name.count
        let isTag = end < bytes.count && bytes[end] == UInt8(ascii: "$") && !isDigit(name.first)
        guard !isInName, isTag else { return take(1) }
        let tag = Array(bytes[position...end])
        take(tag.count)
        while position < bytes.count, !bytes[position...].starts(with: tag) { take(1) }
        take(tag.count)
    }

    private func isDigit(_ byte: UInt8?) -> Bool { byte.map { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ?? false }

    private func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }
}

extension String {
    /// Without white space around it.
    fileprivate var trimmed: String {
        let start = drop(while: \.isWhitespace)
        return String(start[..<(start.lastIndex { !$0.isWhitespace }.map(start.index(after:)) ?? start.startIndex)])
    }
}
