import Bytes
import CPQ

/// The rows that one statement returned, in binary format. Owns the memory: pointers taken from it live as long as it
/// does.
public final class Rows: @unchecked Sendable {
    // @unchecked: libpq never changes a result once it was handed out, and reading one is thread-safe (34.20).
    /// Nil: of other rows, or from another process.
    fileprivate let result: OpaquePointer?
    /// Of a statement that ran in several parts.
    private let parts: [Row]
    fileprivate let copied: CopiedRows?
    public let count: Int

    /// Takes over `result`, a `PGresult`.
    public init(_ result: OpaquePointer) {
        self.result = result
        parts = []
        copied = nil
        count = Int(PQntuples(result))
    }

    /// Rows of others, which it keeps.
    public init(_ parts: [Row]) {
        result = nil
        self.parts = parts
        copied = nil
        count = parts.count
    }

    init(_ copied: CopiedRows) {
        result = nil
        parts = []
        self.copied = copied
        count = copied.rowCount
    }

    deinit { if let result { PQclear(result) } }

    /// The number of rows that an INSERT, UPDATE or DELETE touched.
    public var affectedCount: Int { result.flatMap { Int(String(cString: PQcmdTuples($0))) } ?? 0 }

    public var columnCount: Int { result.map { Int(PQnfields($0)) } ?? copied?.types.count ?? 0 }

    fileprivate func type(_ column: CInt) -> UInt32 {
        result.map { PQftype($0, column) } ?? copied!.types[Int(column)]
    }

    fileprivate func isNull(_ row: CInt, _ column: CInt) -> Bool {
        if let result { return PQgetisnull(result, row, column) == 1 }
        return copied!.isNull(Int(row), Int(column))
    }

    fileprivate func bytes(_ row: CInt, _ column: CInt) -> UnsafeRawBufferPointer {
        guard let result else { return copied!.bytes(Int(row), Int(column)) }
        let length = Int(PQgetlength(result, row, column))
        return UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: length)
    }
}

extension Rows: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    public subscript(index: Int) -> Row { parts.isEmpty ? Row(rows: self, index: CInt(index)) : parts[index] }
}

/// One row. The columns of a `PreparedStatement` are read by their declarations:
///
///     let seq = row[columns.seq]
///
/// Columns of other statements are numbered from 0 and read as the type the caller asks for:
///
///     let seq: Int64 = row[0]
///     let editedAt: Timestamp? = row[1]
public struct Row {
    fileprivate let rows: Rows
    fileprivate let index: CInt

    // MARK: By declaration

    public subscript<Value: PostgresValue>(column: Column<Value>) -> Value { self[checked(column)] }
    public subscript<Value: PostgresValue>(column: Column<Value?>) -> Value? { self[checked(column)] }
    public subscript<Value: PostgresValue>(column: Column<[Value]>) -> [Value] { array(checked(column)) }

    /// The value's raw bytes, for paths that create no `String` of a text.
    public func bytes<Value>(_ column: Column<Value>) -> UnsafeRawBufferPointer {
        bytes(checked(column), Value.statementType)
    }

    /// Whether an outer join found no row, by a column that is otherwise never NULL.
    public func isNull<Value>(_ column: Column<Value>) -> Bool { isNull(checked(column)) }

    private func checked<Value>(_ column: Column<Value>) -> Int {
        assert(column.position < rows.columnCount, "the row has no column \(column.position)")
        return column.position
    }

    // MARK: By number

    public func isNull(_ column: Int) -> Bool { rows.isNull(index, CInt(column)) }

    public subscript<Value: PostgresValue>(column: Int) -> Value { Value(decoding: bytes(column, Value.postgresType)) }

    public subscript<Value: PostgresValue>(column: Int) -> Value? {
        isNull(column) ? nil : Value(decoding: bytes(column, Value.postgresType))
    }

    /// Reads a one-dimensional array without NULLs. Layout as in `Parameters`; an empty array has no dimensions.
    public func array<Value: PostgresValue>(_ column: Int) -> [Value] {
        let bytes = bytes(column, .array(Value.postgresType))
        guard bytes.loadUnaligned(as: Int32.self) != 0 else { return [] }
        let count = Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: 12, as: Int32.self))
        var offset = 20
        return (0..<count).map { _ in
            let length = Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
            precondition(length >= 0, "the array has a NULL")
            defer { offset += 4 + length }
            return Value(decoding: UnsafeRawBufferPointer(rebasing: bytes[(offset + 4)..<(offset + 4 + length)]))
        }
    }

    private func bytes(_ column: Int, _ type: PostgresType) -> UnsafeRawBufferPointer {
        assert(rows.type(CInt(column)) == type.oid, "column \(column) has another type")
        return rows.bytes(index, CInt(column))
    }
}

// MARK: Between processes

/// Rows as another process read them.
///
/// Layout: columns 2 · columns × type 4 · rows 4 · rows × columns × (length 4, -1 for NULL · bytes).
final class CopiedRows: @unchecked Sendable {
    // @unchecked: nothing changes it.
    let types: [UInt32]
    let rowCount: Int
    private let memory: UnsafeMutableRawBufferPointer
    /// Where each value's length is.
    private let starts: [Int32]

    /// Nil: the bytes are no rows.
    init?(from reader: inout ByteReader, limit: Int) {
        guard let columnCount = try? reader.read(UInt16.self) else { return nil }
        var types: [UInt32] = []
        for _ in 0..<columnCount {
            guard let type = try? reader.read(UInt32.self) else { return nil }
            types.append(type)
        }
        guard let rowCount = try? reader.read(UInt32.self), Int(rowCount) <= limit else { return nil }
        let whole = reader, size = reader.remaining
        var starts: [Int32] = []
        // Each value has four bytes at least: no count makes room for more than there is.
        let valueCount = Int(rowCount) * types.count
        guard valueCount <= size / 4, size <= Int(Int32.max) else { return nil }
        starts.reserveCapacity(valueCount)
        for _ in 0..<valueCount {
            starts.append(Int32(size - reader.remaining))
            guard let bits = try? reader.read(UInt32.self) else { return nil }
            let length = Int32(bitPattern: bits)
            guard length >= -1, length <= 0 || (try? reader.read(count: Int(length))) != nil else { return nil }
        }
        self.types = types
        self.rowCount = Int(rowCount)
        self.starts = starts
        let taken = size - reader.remaining
        memory = .allocate(byteCount: max(taken, 1), alignment: 1)
        var source = whole
        if taken > 0, let bytes = try? source.read(count: taken) { memory.copyMemory(from: bytes) }
    }

    deinit { memory.deallocate() }

    private func length(_ row: Int, _ column: Int) -> (start: Int, length: Int) {
        let start = Int(starts[row * types.count + column])
        return (start + 4, Int(Int32(bigEndian: memory.loadUnaligned(fromByteOffset: start, as: Int32.self))))
    }

    func isNull(_ row: Int, _ column: Int) -> Bool { length(row, column).length < 0 }

    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        let (start, length) = length(row, column)
        return UnsafeRawBufferPointer(rebasing: memory[start..<start + max(0, length)])
    }
}

extension Rows {
    /// Appends the rows for another process. Rows that came from one statement.
    public func write(to buffer: inout ByteBuffer) {
        let columns = columnCount
        buffer.append(bigEndian: UInt16(columns))
        for column in 0..<columns { buffer.append(bigEndian: type(CInt(column))) }
        buffer.append(bigEndian: UInt32(count))
        for row in 0..<CInt(count) {
            for column in 0..<CInt(columns) {
                if isNull(row, column) {
                    buffer.append(bigEndian: Int32(-1))
                } else {
                    let bytes = bytes(row, column)
                    buffer.append(bigEndian: Int32(bytes.count))
                    buffer.append(bytes)
                }
            }
        }
    }

    /// The rows with other numbers in an `integer` column.
    public func renumbered(_ column: Int, _ number: (Int32) -> Int32) -> Rows {
        var buffer = ByteBuffer()
        let columns = columnCount
        buffer.append(bigEndian: UInt16(columns))
        for column in 0..<columns { buffer.append(bigEndian: type(CInt(column))) }
        buffer.append(bigEndian: UInt32(count))
        for row in self {
            for place in 0..<columns {
                guard let bytes = row.rawValue(place) else {
                    buffer.append(bigEndian: Int32(-1))
                    continue
                }
                buffer.append(bigEndian: Int32(bytes.count))
                if place == column {
                    buffer.append(bigEndian: number(row[column]))
                } else {
                    buffer.append(bytes)
                }
            }
        }
        var reader = ByteReader(buffer.bytes)
        guard let rows = Rows(from: &reader, limit: count) else { preconditionFailure("rows can be read again") }
        return rows
    }

    /// Reads rows that another process wrote, no more than `limit`. Nil: these bytes are none.
    public convenience init?(from reader: inout ByteReader, limit: Int) {
        guard let copied = CopiedRows(from: &reader, limit: limit) else { return nil }
        self.init(copied)
    }
}

extension Row {
    /// The value of a column as it is; nil: NULL.
    public func rawValue(_ column: Int) -> UnsafeRawBufferPointer? {
        rows.isNull(index, CInt(column)) ? nil : rows.bytes(index, CInt(column))
    }
}
