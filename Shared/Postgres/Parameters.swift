import Bytes

/// The parameters of one execution in PostgreSQL's binary format, written into reused memory.
///
/// Parameters of a `PreparedStatement` are set by their declarations, all of them, in any order:
///
///     parameters.set(input.slot, to: conversation.slot)
///     parameters.set(input.ids, to: commands.lazy.map(\.messageID))
///
/// Parameters of other statements are added in order: `add` adds a scalar parameter, `addArray` begins an array
/// parameter, which `append` then fills element by element.
///
///     parameters.add(slot)
///     parameters.addArray(of: .uuid)
///     for command in commands { parameters.append(command.messageID) }
public struct Parameters: ~Copyable {
    /// The initial size of the buffer in bytes.
    public static let initialBytes = 64 * 1024
    private static let keptBytes = 1024 * 1024

    private var buffer: ByteBuffer
    private var fields: [Field] = []
    private var openArray: OpenArray?

    /// One finished parameter: its offset in the buffer, and its length or -1 for NULL, as libpq takes it.
    private struct Field {
        /// The length of a parameter that has not been set yet.
        static let unset: CInt = -2

        var type: PostgresType
        var start: Int
        var length: CInt
    }

    /// The array that `append` adds to. Layout (array_recv in PostgreSQL): dimensions 4 = 1 · has NULLs 4 · element
    /// type 4 · element count 4 · lower bound 4 = 1 · elements, each length 4 (-1: NULL) · bytes.
    private struct OpenArray {
        static let hasNullsOffset = 4
        static let countOffset = 12

        var element: PostgresType
        var start: Int
        var count: Int32 = 0
        var hasNulls = false
    }

    public init(capacity: Int = initialBytes) { buffer = ByteBuffer(capacity: capacity) }

    public mutating func removeAll() {
        // One huge batch must not keep its memory for ever.
        if buffer.count > Self.keptBytes {
            buffer = ByteBuffer(capacity: Self.initialBytes)
        } else {
            buffer.removeAll()
        }
        fields.removeAll(keepingCapacity: true)
        openArray = nil
    }

    // MARK: By declaration

    public mutating func set<Value: PostgresValue>(_ parameter: Parameter<Value>, to value: Value) {
        fields[parameter.position] = encode(value)
    }

    public mutating func set<Value: PostgresValue>(_ parameter: Parameter<Value?>, to value: Value?) {
        fields[parameter.position] = value.map { encode($0) } ?? null(Value.postgresType)
    }

    public mutating func set<Value: PostgresValue>(
        _ parameter: Parameter<[Value]>, to values: some Sequence<Value>
    ) {
        beginArray(of: Value.postgresType)
        for value in values { append(value) }
        fields[parameter.position] = endArray()
    }

    public mutating func set<Value: PostgresValue>(
        _ parameter: Parameter<[Value?]>, to values: some Sequence<Value?>
    ) {
        beginArray(of: Value.postgresType)
        for value in values { append(value) }
        fields[parameter.position] = endArray()
    }

    /// Makes room for `count` parameters. Each of them must be set.
    mutating func reserve(_ count: Int) {
        fields.append(contentsOf: repeatElement(Field(type: .bool, start: 0, length: Field.unset), count: count))
    }

    private mutating func encode<Value: PostgresValue>(_ value: Value) -> Field {
        let start = buffer.count
        value.encode(into: &buffer)
        return Field(type: Value.postgresType, start: start, length: CInt(buffer.count - start))
    }

    private func null(_ type: PostgresType) -> Field { Field(type: type, start: buffer.count, length: -1) }

    // MARK: Scalars, in order

    public mutating func add<Value: PostgresValue>(_ value: Value) {
        closeArray()
        fields.append(encode(value))
    }

    public mutating func add<Value: PostgresValue>(_ value: Value?) {
        if let value { add(value) } else { addNull(Value.postgresType) }
    }

    /// Adds a value that is in its binary form already.
    public mutating func add(bytes: [UInt8], of type: PostgresType) {
        closeArray()
        let start = buffer.count
        buffer.append(bytes)
        fields.append(Field(type: type, start: start, length: CInt(bytes.count)))
    }

    public mutating func addNull(_ type: PostgresType) {
        closeArray()
        fields.append(null(type))
    }

    // MARK: Arrays, in order

    /// Begins a parameter of type `element[]`; it ends where the next parameter begins.
    public mutating func addArray(of element: PostgresType) {
        closeArray()
        beginArray(of: element)
    }

    private mutating func beginArray(of element: PostgresType) {
        openArray = OpenArray(element: element, start: buffer.count)
        buffer.append(bigEndian: Int32(1))
        buffer.append(bigEndian: Int32(0))
        buffer.append(bigEndian: element.oid)
        buffer.append(bigEndian: Int32(0))
        buffer.append(bigEndian: Int32(1))
    }

    public mutating func append<Value: PostgresValue>(_ element: Value) {
        assert(openArray?.element == Value.postgresType, "an element has the type its array was begun with")
        buffer.append(bigEndian: Int32(element.encodedCount))
        element.encode(into: &buffer)
        openArray!.count += 1
    }

    public mutating func append<Value: PostgresValue>(_ element: Value?) {
        if let element { append(element) } else { appendNull() }
    }

    public mutating func appendNull() {
        buffer.append(bigEndian: Int32(-1))
        openArray!.count += 1
        openArray!.hasNulls = true
    }

    private mutating func closeArray() {
        if openArray != nil { fields.append(endArray()) }
    }

    private mutating func endArray() -> Field {
        let array = openArray!
        openArray = nil
        buffer.overwrite(at: array.start + OpenArray.hasNullsOffset, bigEndian: Int32(array.hasNulls ? 1 : 0))
        buffer.overwrite(at: array.start + OpenArray.countOffset, bigEndian: array.count)
        return Field(type: .array(array.element), start: array.start, length: CInt(buffer.count - array.start))
    }

    // MARK: For sessions

    public var types: [PostgresType] { fields.map(\.type) }

    /// The parameters in binary form, for sessions that are not libpq's. NULL is nil.
    public var values: [[UInt8]?] {
        let bytes = buffer.bytes
        return fields.map { $0.length < 0 ? nil : Array(bytes[$0.start..<$0.start + Int($0.length)]) }
    }

    /// Ends the last parameter.
    public mutating func finish() {
        closeArray()
        precondition(fields.allSatisfy { $0.length != Field.unset }, "every parameter is set")
    }

    /// Calls `body` with the arrays that the PQsend functions take.
    func withArguments<Result>(_ body: (borrowing Arguments) -> Result) -> Result {
        let count = fields.count
        return withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
            withUnsafeTemporaryAllocation(of: CInt.self, capacity: 2 * count) { numbers in
                fill(values, numbers)
                return body(
                    Arguments(
                        count: CInt(count), values: UnsafePointer(values.baseAddress),
                        lengths: UnsafePointer(numbers.baseAddress),
                        formats: UnsafePointer(numbers.baseAddress! + count)))
            }
        }
    }

    private func fill(
        _ values: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>, _ numbers: UnsafeMutableBufferPointer<CInt>
    ) {
        let memory = buffer.bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
        for (index, field) in fields.enumerated() {
            values.initializeElement(at: index, to: field.length < 0 ? nil : memory + field.start)
            numbers.initializeElement(at: index, to: max(0, field.length))
            numbers.initializeElement(at: fields.count + index, to: 1)
        }
    }

    struct Arguments: ~Copyable {
        let count: CInt
        let values: UnsafePointer<UnsafePointer<CChar>?>?
        let lengths: UnsafePointer<CInt>?
        /// All 1: binary.
        let formats: UnsafePointer<CInt>?
    }
}
