import CPQ
import Postgres

/// What PostgreSQL returned for a statement, byte by byte.
package struct RawResult {
    /// The types by their object identifiers.
    package let columns: [(name: String, type: UInt32)]
    package let rows: [[[UInt8]?]]
}

/// A blocking connection that carries out statements of simulated sessions and returns their results as they came.
package final class RawConnection {
    private let handle: OpaquePointer
    private var prepared: Set<String> = []

    package init(url: String) throws {
        guard let handle = PQconnectdb(url) else { preconditionFailure("libpq could not allocate a connection") }
        self.handle = handle
        // Without a receiver libpq prints notices to standard error.
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        guard PQstatus(handle) == CONNECTION_OK else { throw failure }
    }

    deinit { PQfinish(handle) }

    /// The process ID of the backend.
    package var backend: Int32 { PQbackendPID(handle) }

    /// Runs any number of statements, separated by semicolons.
    package func run(_ sql: String) throws { PQclear(try checked(PQexec(handle, sql))) }

    package func query(_ sql: String) throws -> RawResult {
        try result(of: PQexecParams(handle, sql, 0, nil, nil, nil, nil, 1))
    }

    package func execute(_ sql: String, _ values: [SimulatedValue]) throws {
        let types = values.map(\.type.oid)
        PQclear(
            try checked(
                withArguments(values.map(\.bytes)) {
                    PQexecParams(handle, sql, CInt(values.count), types, $0, $1, $2, 1)
                }))
    }

    /// Executes a statement under the name that it was given, prepared once, or as a text.
    package func execute(_ statement: SimulatedStatement) throws -> RawResult {
        let types = statement.types.map(\.oid)
        let count = CInt(types.count)
        if let name = statement.name, prepared.insert(name).inserted {
            PQclear(try checked(PQprepare(handle, name, statement.sql, count, types)))
        }
        return try result(
            of: withArguments(statement.parameters) {
                if let name = statement.name { return PQexecPrepared(handle, name, count, $0, $1, $2, 1) }
                return PQexecParams(handle, statement.sql, count, types, $0, $1, $2, 1)
            })
    }

    // MARK: Arguments

    private typealias Numbers = UnsafePointer<CInt>?
    private typealias Values = UnsafePointer<UnsafePointer<CChar>?>?

    /// Calls `body` with values, lengths and formats, as the PQexec functions take them.
    private func withArguments(
        _ values: [[UInt8]?], _ body: (Values, Numbers, Numbers) -> OpaquePointer?
    ) -> OpaquePointer? {
        let bytes = values.flatMap { $0 ?? [] }.map(CChar.init(bitPattern:)) + [0]
        let lengths = values.map { CInt($0?.count ?? 0) }
        let formats = values.map { _ in 1 as CInt }
        return bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress!
            let places: [UnsafePointer<CChar>?] = values.map { value in
                defer { position += value?.count ?? 0 }
                return value == nil ? nil : position
            }
            return body(places, lengths, formats)
        }
    }

    // MARK: Results

    private func result(of result: OpaquePointer?) throws -> RawResult {
        let result = try checked(result)
        defer { PQclear(result) }
        let columns = (0..<PQnfields(result)).map { column in
            (name: String(cString: PQfname(result, column)), type: PQftype(result, column))
        }
        let rows = (0..<PQntuples(result)).map { row in
            columns.indices.map { column in value(of: result, row, CInt(column)) }
        }
        return RawResult(columns: columns, rows: rows)
    }

    private func value(of result: OpaquePointer, _ row: CInt, _ column: CInt) -> [UInt8]? {
        guard PQgetisnull(result, row, column) == 0 else { return nil }
        let count = Int(PQgetlength(result, row, column))
        return Array(UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: count))
    }

    private func checked(_ result: OpaquePointer?) throws -> OpaquePointer {
        guard let result else { throw failure }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return result
        default:
            defer { PQclear(result) }
            throw failure
        }
    }

    private var failure: RawError { RawError(description: String(cString: PQerrorMessage(handle))) }
}

/// libpq's message.
package struct RawError: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}
