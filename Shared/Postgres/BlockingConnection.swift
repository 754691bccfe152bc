import CPQ

/// A plain, blocking connection: for migrations, tests and tools, never on the reactor.
public final class BlockingConnection {
    private let handle: OpaquePointer

    public init(url: String, applicationName: String) throws(DatabaseError) {
        let keywords =
            ConnectionConfiguration.keywords(applicationName: applicationName)
            + [("connect_timeout", "5"), ("dbname", url)]
        let names = CStringArray(keywords.map(\.0)), values = CStringArray(keywords.map(\.1))
        guard let handle = PQconnectdbParams(names.pointer, values.pointer, 1) else {
            preconditionFailure("libpq could not allocate a connection")
        }
        self.handle = handle
        // Without a receiver libpq prints notices to standard error.
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        guard PQstatus(handle) == CONNECTION_OK else { throw lastError }
    }

    deinit { PQfinish(handle) }

    /// Runs any number of statements, separated by semicolons, as one transaction unless they say otherwise.
    public func execute(_ sql: String) throws(DatabaseError) {
        _ = try rows(PQexec(handle, sql))
    }

    public func query(
        _ sql: String, _ build: (inout Parameters) -> Void = { _ in }
    ) throws(DatabaseError) -> Rows {
        var parameters = Parameters()
        build(&parameters)
        parameters.finish()
        let types = parameters.types.map(\.oid)
        return try rows(
            parameters.withArguments { arguments in
                PQexecParams(
                    handle, sql, arguments.count, types, arguments.values, arguments.lengths, arguments.formats, 1)
            })
    }

    /// Runs `body` between BEGIN and COMMIT, and rolls back when it throws.
    public func transaction(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        try execute("BEGIN")
        do {
            try body()
            try execute("COMMIT")
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }

    private func rows(_ result: OpaquePointer?) throws(DatabaseError) -> Rows {
        guard let result else { throw lastError }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return Rows(result)
        default:
            defer { PQclear(result) }
            throw DatabaseError(serverErrorIn: result) ?? lastError
        }
    }

    private var lastError: DatabaseError {
        DatabaseError(.connectionFailure, String(cString: PQerrorMessage(handle)).trimmedLines)
    }
}
