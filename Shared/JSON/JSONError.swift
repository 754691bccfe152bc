/// An error in a document: the reason and the position.
public struct JSONError: Error, Equatable {
    public let reason: Reason
    /// The offset of the byte at fault from the start of the document.
    public let offset: Int
    /// The field at fault as a client would name it, such as `messages[3].text`; empty for the document itself.
    public let field: String

    public enum Reason: Equatable, Sendable {
        /// A violation of the grammar, or not the type that the caller expects, such as "a string".
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
        /// The value is well-formed but not accepted; the text says what it must be.
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
    /// A description for the client: names the field and contains none of the document's content.
    public var description: String {
        field.isEmpty ? "\(reason) at byte \(offset)" : "\(field): \(reason) at byte \(offset)"
    }
}

extension JSONError.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .expected(let what): "expected \(what)"
        case .truncated: "the document ends too early"
        case .trailingBytes: "the document continues after its value"
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
