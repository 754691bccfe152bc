/// Why a document was refused, and where.
public struct JSONError: Error, Equatable {
    public let reason: Reason
    /// Offset of the byte at fault from the start of the document.
    public let offset: Int
    /// The field at fault as a client would name it, such as `messages[3].text`; empty for the document itself.
    public let field: String

    public enum Reason: Equatable, Sendable {
        /// Something other than what the grammar or the caller demands, such as "a string".
        case expected(StaticText)
        case truncated
        case trailingBytes
        case tooDeep
        case invalidUTF8
        case controlCharacter
        case invalidEscape
        case loneSurrogate
        /// U+0000, which PostgreSQL's `text` cannot hold.
        case nulCharacter
        case numberOutOfRange
        /// The value is well-formed, yet its reader refused it; the text says what it must be.
        case invalidValue(StaticText)
    }

    /// A `StaticString` that can be compared.
    public struct StaticText: Equatable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        private let text: StaticString
        public init(stringLiteral text: StaticString) { self.text = text }
        public var description: String { text.description }
        public static func == (left: Self, right: Self) -> Bool { left.description == right.description }
    }
}

extension JSONError: CustomStringConvertible {
    /// For the client that sent the document: names the field, quotes nothing.
    public var description: String {
        field.isEmpty ? "\(reason) at byte \(offset)" : "\(field): \(reason) at byte \(offset)"
    }
}

extension JSONError.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .expected(let what): "expected \(what)"
        case .truncated: "the document ends too early"
        case .trailingBytes: "the document goes on after its value"
        case .tooDeep: "nested deeper than \(JSONReader.maximumDepth)"
        case .invalidUTF8: "not UTF-8"
        case .controlCharacter: "a control character must be escaped"
        case .invalidEscape: "not an escape sequence of JSON"
        case .loneSurrogate: "half of a surrogate pair"
        case .nulCharacter: "U+0000 is not accepted"
        case .numberOutOfRange: "the number is out of range"
        case .invalidValue(let what): "must be \(what)"
        }
    }
}
