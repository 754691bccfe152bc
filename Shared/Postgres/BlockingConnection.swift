import CPQ

/// A plain, blocking connection: for migrations, tests and tools, never on the reactor.
public final class BlockingConnection {
    private let handle: OpaquePointer

    /// - Parameter node: the node of a distributed database to connect to; nil: the one that the URL names.
    public init(url: String, node: NodeAddress? = nil, applicationName: String) throws(DatabaseError) {
        let keywords =
            ConnectionConfiguration.keywords(applicationName: applicationName)
            + [("connect_timeout", "5")] + (node?.keywords(url) ?? [("dbname", url)])
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

    /// Executes a prepared statement's SQL.
    public func query<Input, Columns>(
        _ prepared: PreparedStatement<Input, Columns>, prefix: String = "", _ build: (inout Parameters, Input) -> Void
    ) throws(DatabaseError) -> Rows {
        try query(prefix + prepared.untyped.sql) { parameters in
            parameters.reserve(prepared.untyped.parameters.count)
            build(&parameters, prepared.input)
        }
    }

    /// Returns the server's description of a statement's parameters, which have no names, and columns.
    public func describe(_ statement: Statement) throws(DatabaseError) -> (
        parameters: [PostgresType], columns: [Statement.Field]
    ) {
        let types = statement.parameters.map(\.oid)
        // Without a name, so that the next one replaces it.
        _ = try rows(PQprepare(handle, "", statement.sql, CInt(types.count), types))
        guard let result = PQdescribePrepared(handle, "") else { throw lastError }
        defer { PQclear(result) }
        if PQresultStatus(result) != PGRES_COMMAND_OK { throw DatabaseError(serverErrorIn: result) ?? lastError }
        return (
            (0..<PQnparams(result)).map { PostgresType(oid: PQparamtype(result, $0)) },
            (0..<PQnfields(result)).map { column in
                Statement.Field(
                    name: String(cString: PQfname(result, column)), type: PostgresType(oid: PQftype(result, column)))
            }
        )
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
