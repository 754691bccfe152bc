import Reactor

/// For cold paths: one statement, one transaction, awaited.
extension Connection {
    public func query(
        _ statement: Statement, _ build: (inout Parameters) -> Void = { _ in }
    ) async throws(DatabaseError) -> Rows {
        try await transaction { $0.execute(statement, build) }[0]
    }

    public func query<Input, Columns>(
        _ prepared: PreparedStatement<Input, Columns>, _ build: (inout Parameters, Input) -> Void
    ) async throws(DatabaseError) -> Rows {
        try await transaction { $0.execute(prepared, build) }[0]
    }

    public func query<Columns>(
        _ prepared: PreparedStatement<NoFields, Columns>
    ) async throws(DatabaseError) -> Rows {
        try await transaction { $0.execute(prepared) }[0]
    }

    public func query(
        sql: String, _ build: (inout Parameters) -> Void = { _ in }
    ) async throws(DatabaseError) -> Rows {
        try await transaction { $0.execute(sql: sql, build) }[0]
    }

    /// Runs a batch and returns the rows of each statement. Throws on an unknown outcome too. Callers that must tell
    /// the two apart use `submit`.
    public func transaction(_ build: (inout Batch) -> Void) async throws(DatabaseError) -> [Rows] {
        guard isUp else { throw .notConnected }
        let outcome = await withUnsafeContinuation { (continuation: UnsafeContinuation<BatchOutcome, Never>) in
            submit(build) { continuation.resume(returning: $0) }
        }
        switch outcome {
        case .committed(let rows): return rows
        case .failed(let error, _), .unknown(let error): throw error
        }
    }
}
