/// A *typedstream*: how `NSArchiver` writes objects, and so how Messages stores attributed texts.
///
/// A stream is a sequence of groups: a type encoding, as of Objective-C, and a value for each type in it. What was
/// written before is named by its number: encodings in a table of their own; objects, classes and C strings in another.
///
/// The bytes may be anything: reading ends, after time in proportion to their number, with what was read until something
/// was not as it should be.
package struct TypedStream: Sendable {
    package enum Value: Hashable, Sendable {
        case null
        case integer(Int64)
        case number(Double)
        case bytes([UInt8])
        /// The number of an item.
        case item(Int)
        /// The elements of an array, or the fields of a structure.
        case list([Value])
    }

    package enum Item: Sendable {
        case object(Object)
        case classDescription(name: [UInt8], superclass: Int?)
        case cString([UInt8])
    }

    package struct Object: Sendable {
        /// The number of its class; nil until it is read.
        package fileprivate(set) var classNumber: Int?
        package fileprivate(set) var groups: [[Value]] = []
        /// Whether its end was read.
        package fileprivate(set) var isComplete = false
    }

    /// In the order in which they were begun.
    package fileprivate(set) var items: [Item] = []
    package fileprivate(set) var groups: [[Value]] = []
    /// Whether the bytes are a typedstream to their end.
    package private(set) var isComplete = false

    package init(_ bytes: [UInt8]) {
        guard bytes.count <= TypedStreamReader.maximumBytes else { return }
        bytes.withUnsafeBytes { bytes in
            var reader = TypedStreamReader(bytes)
            isComplete = (try? reader.readAll(into: &self)) != nil
        }
    }

    package func object(_ value: Value?) -> Object? {
        guard case .item(let number) = value, case .object(let object) = items[number] else { return nil }
        return object
    }

    package func cString(_ value: Value?) -> [UInt8]? {
        guard case .item(let number) = value, case .cString(let bytes) = items[number] else { return nil }
        return bytes
    }

    /// Whether the object is of the class of this name, or of one derived from it.
    package func isKind(_ object: Object, of name: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var next = object.classNumber
        // A superclass stands after its class or was there before: damaged bytes could go round in a circle.
        for _ in 0..<TypedStreamReader.maximumDepth {
            guard let number = next, case .classDescription(let own, let superclass) = items[number] else {
                return false
            }
            if own.elementsEqual(expected) { return true }
            next = superclass
        }
        return false
    }

    // The tables while they grow. Every number that is handed out is of the kind that it is used as.

    fileprivate mutating func begin(_ item: Item) -> Int {
        items.append(item)
        return items.count - 1
    }

    fileprivate mutating func change(_ number: Int, _ body: (inout Object) -> Void) {
        guard case .object(var object) = items[number] else { return }
        items[number] = .cString([])  // So that the object's groups are not copied.
        body(&object)
        items[number] = .object(object)
    }

    fileprivate mutating func setSuperclass(of number: Int, _ superclass: Int?) {
        guard case .classDescription(let name, _) = items[number] else { return }
        items[number] = .classDescription(name: name, superclass: superclass)
    }
}

/// The bytes are not a typedstream from here on.
private struct Damage: Error {}

/// Reads a typedstream from its beginning.
private struct TypedStreamReader {
    static let maximumBytes = 16 * 1024 * 1024
    /// Attributed texts need less than ten; deeper ones would cost the stack.
    static let maximumDepth = 64
    /// What is in the table of encodings is read again wherever it is named, as an encoding or as a C string.
    private static let maximumEncodingBytes = 1024

    private enum Tag {
        static let int16: Int8 = -127
        static let int32: Int8 = -126
        static let floatingPoint: Int8 = -125
        static let new: Int8 = -124
        static let null: Int8 = -123
        static let endOfObject: Int8 = -122
        static let all: ClosedRange<Int8> = -128 ... -111
        /// The number 0 of a table.
        static let firstReference = -110
    }

    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var isBigEndian = false
    private var encodings: [[UInt8]] = []
    private var depth = 0
    /// Values without bytes, such as fields that are not written, would be free in any number.
    private var remainingValues: Int

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        remainingValues = bytes.count
    }

    mutating func readAll(into stream: inout TypedStream) throws(Damage) {
        try readHeader()
        while position < bytes.count {
            let types = try encoding(try head())
            stream.groups.append([])
            try readGroup(types, &stream) { stream, value in stream.groups[stream.groups.count - 1].append(value) }
        }
    }

    private mutating func readHeader() throws(Damage) {
        guard try byte() == 4, try byte() == 11 else { throw Damage() }
        let signature = try take(11)
        isBigEndian = signature.elementsEqual("typedstream".utf8)
        guard isBigEndian || signature.elementsEqual("streamtyped".utf8) else { throw Damage() }
        _ = try integer(try head(), isSigned: false)  // The version of the system that wrote it.
    }

    // MARK: Bytes and numbers

    private mutating func take(_ count: Int) throws(Damage) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= bytes.count - position else { throw Damage() }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }

    private mutating func byte() throws(Damage) -> UInt8 { try take(1)[0] }

    /// The byte before a value: a tag, a short number, or a reference.
    private mutating func head() throws(Damage) -> Int8 { Int8(bitPattern: try byte()) }

    private mutating func word(_ count: Int) throws(Damage) -> UInt64 {
        let word = try take(count)
        return (isBigEndian ? Array(word) : word.reversed()).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func integer(_ head: Int8, isSigned: Bool) throws(Damage) -> Int64 {
        if !Tag.all.contains(head) { return isSigned ? Int64(head) : Int64(UInt8(bitPattern: head)) }
        switch head {
        case Tag.int16:
            let word = UInt16(truncatingIfNeeded: try word(2))
            return isSigned ? Int64(Int16(bitPattern: word)) : Int64(word)
        case Tag.int32:
            let word = UInt32(truncatingIfNeeded: try word(4))
            return isSigned ? Int64(Int32(bitPattern: word)) : Int64(word)
        default: throw Damage()
        }
    }

    private mutating func double() throws(Damage) -> Double {
        let head = try head()
        guard head == Tag.floatingPoint else { return Double(try integer(head, isSigned: true)) }
        return Double(bitPattern: try word(8))
    }

    private mutating func float() throws(Damage) -> Double {
        let head = try head()
        guard head == Tag.floatingPoint else { return Double(try integer(head, isSigned: true)) }
        return Double(Float(bitPattern: UInt32(truncatingIfNeeded: try word(4))))
    }

    /// A number in a table of `count` items.
    private mutating func reference(_ head: Int8, below count: Int) throws(Damage) -> Int {
        let number = Int(try integer(head, isSigned: true)) - Tag.firstReference
        guard (0..<count).contains(number) else { throw Damage() }
        return number
    }

    // MARK: Strings

    private mutating func unsharedString() throws(Damage) -> [UInt8]? {
        let head = try head()
        if head == Tag.null { return nil }
        return Array(try take(Int(try integer(head, isSigned: false))))
    }

    private mutating func sharedString(_ head: Int8) throws(Damage) -> [UInt8]? {
        if head == Tag.null { return nil }
        guard head == Tag.new else { return encodings[try reference(head, below: encodings.count)] }
        guard let string = try unsharedString() else { throw Damage() }
        encodings.append(string)
        return string
    }

    private mutating func encoding(_ head: Int8) throws(Damage) -> [TypeEncoding] {
        guard let text = try sharedString(head), !text.isEmpty, text.count <= Self.maximumEncodingBytes,
            let types = TypeEncoding.list(text[...])
        else { throw Damage() }
        return types
    }

    // MARK: Values

    /// Hands over each value as soon as it is read, so that what comes before damage is kept.
    private mutating func readGroup(
        _ types: [TypeEncoding], _ stream: inout TypedStream, _ receive: (inout TypedStream, TypedStream.Value) -> Void
    ) throws(Damage) {
        for type in types { receive(&stream, try value(type, &stream)) }
    }

    private mutating func value(_ type: TypeEncoding, _ stream: inout TypedStream) throws(Damage) -> TypedStream.Value {
        guard remainingValues > 0, depth < Self.maximumDepth else { throw Damage() }
        remainingValues -= 1
        depth += 1
        defer { depth -= 1 }
        switch type {
        case .character: return .integer(Int64(Int8(bitPattern: try byte())))
        case .unsignedCharacter: return .integer(Int64(try byte()))
        case .boolean:
            let byte = try byte()
            guard byte <= 1 else { throw Damage() }
            return .integer(Int64(byte))
        case .integer(let isSigned): return .integer(try integer(try head(), isSigned: isSigned))
        case .float: return .number(try float())
        case .double: return .number(try double())
        case .unsharedString: return try unsharedString().map { .bytes($0) } ?? .null
        case .sharedString: return try sharedString(try head()).map { .bytes($0) } ?? .null
        case .cString: return try cString(&stream)
        case .classDescription: return try classDescription(&stream).map { .item($0) } ?? .null
        case .object: return try object(&stream)
        case .ignored: return .null
        case .array(let count, let element): return try array(count, of: element, &stream)
        case .structure(let fields): return .list(try list(fields[...], &stream))
        }
    }

    private mutating func list(
        _ types: ArraySlice<TypeEncoding>, _ stream: inout TypedStream
    ) throws(Damage) -> [TypedStream.Value] {
        var values: [TypedStream.Value] = []
        for type in types { values.append(try value(type, &stream)) }
        return values
    }

    private mutating func array(
        _ count: Int, of element: TypeEncoding, _ stream: inout TypedStream
    ) throws(Damage) -> TypedStream.Value {
        if element == .character || element == .unsignedCharacter { return .bytes(Array(try take(count))) }
        guard count <= remainingValues else { throw Damage() }
        var values: [TypedStream.Value] = []
        for _ in 0..<count { values.append(try value(element, &stream)) }
        return .list(values)
    }

    private mutating func cString(_ stream: inout TypedStream) throws(Damage) -> TypedStream.Value {
        let head = try head()
        if head == Tag.null { return .null }
        guard head == Tag.new else {
            let number = try reference(head, below: stream.items.count)
            guard case .cString = stream.items[number] else { throw Damage() }
            return .item(number)
        }
        guard let string = try sharedString(try self.head()), string.count <= Self.maximumEncodingBytes,
            !string.contains(0)
        else { throw Damage() }
        return .item(stream.begin(.cString(string)))
    }

    private mutating func object(_ stream: inout TypedStream) throws(Damage) -> TypedStream.Value {
        let head = try head()
        if head == Tag.null { return .null }
        guard head == Tag.new else {
            let number = try reference(head, below: stream.items.count)
            guard case .object = stream.items[number] else { throw Damage() }
            return .item(number)
        }
        let number = stream.begin(.object(TypedStream.Object()))
        let classNumber = try classDescription(&stream)
        stream.change(number) { $0.classNumber = classNumber }
        try readGroups(of: number, &stream)
        stream.change(number) { $0.isComplete = true }
        return .item(number)
    }

    private mutating func readGroups(of number: Int, _ stream: inout TypedStream) throws(Damage) {
        while true {
            let head = try head()
            if head == Tag.endOfObject { return }
            let types = try encoding(head)
            stream.change(number) { $0.groups.append([]) }
            try readGroup(types, &stream) { stream, value in
                stream.change(number) { $0.groups[$0.groups.count - 1].append(value) }
            }
        }
    }

    /// A class with those above it, up to one that was there before, or to none.
    private mutating func classDescription(_ stream: inout TypedStream) throws(Damage) -> Int? {
        var first: Int?
        var lowest: Int?
        while true {
            let head = try head()
            guard head == Tag.new else {
                let last = try endOfClasses(head, stream)
                if let lowest { stream.setSuperclass(of: lowest, last) }
                return first ?? last
            }
            guard let name = try sharedString(try self.head()) else { throw Damage() }
            _ = try integer(try self.head(), isSigned: true)  // Its version.
            let number = stream.begin(.classDescription(name: name, superclass: nil))
            if let lowest { stream.setSuperclass(of: lowest, number) }
            first = first ?? number
            lowest = number
        }
    }

    private mutating func endOfClasses(_ head: Int8, _ stream: TypedStream) throws(Damage) -> Int? {
        if head == Tag.null { return nil }
        let number = try reference(head, below: stream.items.count)
        guard case .classDescription = stream.items[number] else { throw Damage() }
        return number
    }
}
