import Bytes
import CPQ
import Postgres

/// A value in a row of a `SimulatedServer`, with its type: a NULL has one, too.
package struct SimulatedValue: Equatable, Sendable {
    package let type: PostgresType
    /// The form that PostgreSQL sends. NULL is nil.
    package let bytes: [UInt8]?

    package init<Value: PostgresValue>(_ value: Value?) {
        type = Value.postgresType
        bytes = value.map { value in
            var buffer = ByteBuffer(capacity: 16)
            value.encode(into: &buffer)
            return buffer.array
        }
    }

    package init<Value: PostgresValue>(array: [Value]) {
        type = .array(Value.postgresType)
        bytes = array.isEmpty ? Self.emptyArray(of: Value.postgresType) : Self.array(array)
    }

    /// PostgreSQL's empty array has no dimension: dimensions 4 = 0 · has NULLs 4 = 0 · element type 4.
    private static func emptyArray(of element: PostgresType) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 16)
        buffer.append(bigEndian: 0 as Int32)
        buffer.append(bigEndian: 0 as Int32)
        buffer.append(bigEndian: element.oid)
        return buffer.array
    }

    private static func array<Value: PostgresValue>(_ elements: [Value]) -> [UInt8]? {
        var parameters = Parameters(capacity: 256)
        parameters.addArray(of: Value.postgresType)
        for element in elements { parameters.append(element) }
        parameters.finish()
        return parameters.values[0]
    }
}

extension Rows {
    /// Creates the rows of a simulated statement, all with the same columns.
    package convenience init(simulating rows: [[SimulatedValue]]) {
        guard let result = PQmakeEmptyPGresult(nil, PGRES_TUPLES_OK) else {
            preconditionFailure("there is memory for a result")
        }
        if let first = rows.first { Self.describe(first, in: result) }
        for (index, row) in rows.enumerated() {
            for (column, value) in row.enumerated() { Self.set(value, of: result, CInt(index), CInt(column)) }
        }
        self.init(result)
    }

    private static func describe(_ columns: [SimulatedValue], in result: OpaquePointer) {
        var name: [CChar] = [0]
        name.withUnsafeMutableBufferPointer { name in
            var attributes = columns.map { value in
                PGresAttDesc(
                    name: name.baseAddress, tableid: 0, columnid: 0, format: 1, typid: value.type.oid, typlen: -1,
                    atttypmod: -1)
            }
            PQsetResultAttrs(result, CInt(attributes.count), &attributes)
        }
    }

    private static func set(_ value: SimulatedValue, of result: OpaquePointer, _ row: CInt, _ column: CInt) {
        guard var bytes = value.bytes else {
            PQsetvalue(result, row, column, nil, -1)
            return
        }
        bytes.withUnsafeMutableBytes {
            let start = $0.baseAddress?.assumingMemoryBound(to: CChar.self)
            // Without a pointer, a length of 0 would be NULL.
            var nothing: CChar = 0
            if let start {
                PQsetvalue(result, row, column, start, CInt($0.count))
            } else {
                PQsetvalue(result, row, column, &nothing, 0)
            }
        }
    }
}
