import CPQ

/// The rows that one statement returned, in binary format. Owns the memory: pointers taken from it live as long as it
/// does.
public final class Rows: @unchecked Sendable {
    // @unchecked: libpq never changes a result once it was handed out, and reading one is thread-safe (34.20).
    fileprivate let result: OpaquePointer
    public let count: Int

    /// Takes over `result`, a `PGresult`.
    public init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
    }

    deinit { PQclear(result) }

    /// The number of rows that an INSERT, UPDATE or DELETE touched.
    public var affectedCount: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }
}

extension Rows: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    public subscript(index: Int) -> Row { Row(rows: self, index: CInt(index)) }
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
        assert(column.position < PQnfields(rows.result), "the row has no column \(column.position)")
        return column.position
    }

    // MARK: By number

    public func isNull(_ column: Int) -> Bool { PQgetisnull(rows.result, index, CInt(column)) == 1 }

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
        assert(PQftype(rows.result, CInt(column)) == type.oid, "column \(column) has another type")
        let length = Int(PQgetlength(rows.result, index, CInt(column)))
        return UnsafeRawBufferPointer(start: PQgetvalue(rows.result, index, CInt(column)), count: length)
    }
}
