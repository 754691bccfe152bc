/// A strict pull parser for one JSON document (RFC 8259), without a tree, allocations or Foundation.
///
/// ```
/// try reader.beginObject()
/// while let key = try reader.nextKey() {
///     switch key {
///     case "text": text = try reader.string()
///     default: try reader.skip()
///     }
/// }
/// try reader.end()
/// ``` Every key's value must be read or skipped, and `end()` must be called last. In addition to the grammar it
/// refuses invalid UTF-8, lone surrogates, U+0000, and more than `maximumDepth` levels. A repeated key is returned
/// again; readers of clients' input refuse that by `JSONKeys`.
///
/// It borrows the memory: valid, like every slice it returns, as long as the bytes it was made from.
public struct JSONReader {
    public static let maximumDepth = 64

    let start: UnsafePointer<UInt8>
    let count: Int
    /// The offset of the next unread byte.
    public var offset = 0
    private var depth = 0
    /// Whether nothing of the innermost container was read: its first member has no comma before it.
    private var isAtFirst = false

    public init(_ bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address; `count` forbids reading from this one.
        start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? Self.nowhere
        count = bytes.count
    }

    private static var nowhere: UnsafePointer<UInt8> { ("" as StaticString).utf8Start }

    // MARK: Containers

    public mutating func beginObject() throws(JSONError) { try open(UInt8(ascii: "{"), "an object") }

    /// The next key of the innermost object, or nil after consuming its end.
    public mutating func nextKey() throws(JSONError) -> JSONString? {
        guard try advance(to: UInt8(ascii: "}"), "a comma or the end of the object") else { return nil }
        guard try peek() == UInt8(ascii: "\"") else { throw failure(.expected("a key")) }
        let key = try slice()
        try consume(UInt8(ascii: ":"), "a colon")
        return key
    }

    public mutating func beginArray() throws(JSONError) { try open(UInt8(ascii: "["), "an array") }

    /// Whether the innermost array has another element; consumes its end otherwise.
    public mutating func nextElement() throws(JSONError) -> Bool {
        guard try advance(to: UInt8(ascii: "]"), "a comma or the end of the array") else { return false }
        // Without this check `[1,]` would pass wherever an element may be skipped.
        guard try peek() != UInt8(ascii: "]") else { throw failure(.expected("a value")) }
        return true
    }

    /// Checks that only white space follows.
    public mutating func end() throws(JSONError) {
        skipWhitespace()
        guard offset == count else { throw failure(.trailingBytes) }
    }

    private mutating func open(_ bracket: UInt8, _ what: JSONError.StaticText) throws(JSONError) {
        try consume(bracket, what)
        guard depth < Self.maximumDepth else { throw failure(.tooDeep, at: offset - 1) }
        depth += 1
        isAtFirst = true
    }

    /// Consumes the comma before the next member. Returns false at the end of the container, which it consumes.
    private mutating func advance(to bracket: UInt8, _ what: JSONError.StaticText) throws(JSONError) -> Bool {
        let next = try peek()
        let wasAtFirst = isAtFirst
        isAtFirst = false
        if next == bracket {
            offset += 1
            depth -= 1
            return false
        }
        if wasAtFirst { return true }
        guard next == UInt8(ascii: ",") else { throw failure(.expected(what)) }
        offset += 1
        return true
    }

    // MARK: Values

    /// The kind of the next value. Consumes only white space.
    public mutating func kind() throws(JSONError) -> JSONKind {
        switch try peek() {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        case UInt8(ascii: "n"): .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): .number
        default: throw failure(.expected("a value"))
        }
    }

    /// Reads a string without decoding or copying it.
    public mutating func slice() throws(JSONError) -> JSONString {
        try consume(UInt8(ascii: "\""), "a string")
        return try finishString()
    }

    public mutating func string() throws(JSONError) -> String { try slice().string }

    public mutating func bool() throws(JSONError) -> Bool {
        switch try peek() {
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        default: throw failure(.expected("true or false"))
        }
        return start[offset - 2] == UInt8(ascii: "u")
    }

    /// Consumes `null` if it is next. Returns whether it was.
    public mutating func consumeNull() throws(JSONError) -> Bool {
        guard try peek() == UInt8(ascii: "n") else { return false }
        try literal("null")
        return true
    }

    /// Reads a number without fraction and exponent that fits 64 bits.
    public mutating func integer() throws(JSONError) -> Int64 {
        let isNegative = try peek() == UInt8(ascii: "-")
        let first = offset
        if isNegative { offset += 1 }
        guard let digits = digits(), !isZeroPadded(digits) else { throw failure(.expected("an integer"), at: first) }
        if let next = byte, next == UInt8(ascii: ".") || next | 0x20 == UInt8(ascii: "e") {
            throw failure(.expected("an integer"), at: first)
        }
        guard let value = value(of: digits, isNegative: isNegative) else {
            throw failure(.numberOutOfRange, at: first)
        }
        return value
    }

    /// Consumes a value of any kind, with full validation.
    public mutating func skip() throws(JSONError) {
        switch try kind() {
        case .object:
            try beginObject()
            while try nextKey() != nil { try skip() }
        case .array:
            try beginArray()
            while try nextElement() { try skip() }
        case .string: _ = try slice()
        case .bool: _ = try bool()
        case .null: try literal("null")
        case .number: try skipNumber()
        }
    }

    /// The bytes of a value of any kind, validated and still encoded, to be forwarded unchanged.
    public mutating func encodedValue() throws(JSONError) -> UnsafeRawBufferPointer {
        skipWhitespace()
        let first = offset
        try skip()
        return UnsafeRawBufferPointer(start: start + first, count: offset - first)
    }

    // MARK: Failures

    /// An error that names the field to which the byte at `position` belongs (by default the next unread one).
    ///
    /// The field is found by reading the document again, so valid documents do not pay for it.
    @inline(never)
    public func failure(_ reason: JSONError.Reason, at position: Int? = nil) -> JSONError {
        let position = position ?? offset
        let before = UnsafeRawBufferPointer(start: start, count: min(position, count))
        let field = FieldPath(before: before).description
        if case .expected = reason, position >= count {
            return JSONError(reason: .truncated, offset: count, field: field)
        }
        return JSONError(reason: reason, offset: position, field: field)
    }

    // MARK: Bytes

    var byte: UInt8? { offset < count ? start[offset] : nil }

    mutating func skipWhitespace() {
        while offset < count, isWhitespace(start[offset]) { offset += 1 }
    }

    private func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// The next byte that is not white space.
    mutating func peek() throws(JSONError) -> UInt8 {
        skipWhitespace()
        guard offset < count else { throw failure(.truncated) }
        return start[offset]
    }

    private mutating func consume(_ expected: UInt8, _ what: JSONError.StaticText) throws(JSONError) {
        guard try peek() == expected else { throw failure(.expected(what)) }
        offset += 1
    }

    private mutating func literal(_ word: StaticString) throws(JSONError) {
        for position in 0..<word.utf8CodeUnitCount {
            guard byte == word.utf8Start[position] else { throw failure(.expected("a value")) }
            offset += 1
        }
    }
}

/// The kinds of JSON values.
public enum JSONKind: Sendable { case object, array, string, number, bool, null }
