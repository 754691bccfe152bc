/// The statements of one transaction while they are being sent.
public struct Batch: ~Copyable {
    private let session: any ServerSession
    /// The number of statements added so far.
    public private(set) var statementCount = 0

    init(_ session: any ServerSession) { self.session = session }

    /// Executes a statement of the connection's configuration with the parameters that `build` adds.
    public mutating func execute(_ statement: Statement, _ build: (inout Parameters) -> Void = { _ in }) {
        session.execute(statement, build)
        statementCount += 1
    }

    /// Executes a statement with what it borrows of users: see `UserRows.parameters`.
    ///
    /// - Parameter borrowed: a text for each of the tables that it borrows of, in their order.
    public mutating func execute(
        _ statement: Statement, borrowing borrowed: [[UInt8]], _ build: (inout Parameters) -> Void
    ) {
        execute(statement) { parameters in
            build(&parameters)
            for text in borrowed { parameters.add(bytes: text, of: .text) }
        }
    }

    /// Executes a statement apart from the one who has built it.
    public mutating func execute(_ execution: Execution, borrowing borrowed: [[UInt8]] = []) {
        execute(execution.statement, borrowing: borrowed) { parameters in
            for (type, value) in zip(execution.statement.parameters, execution.values) {
                if let value { parameters.add(bytes: value, of: type) } else { parameters.addNull(type) }
            }
        }
    }

    /// Parses and executes `sql`, for statements that run too seldom to be prepared.
    public mutating func execute(sql: String, _ build: (inout Parameters) -> Void = { _ in }) {
        session.execute(sql: sql, build)
        statementCount += 1
    }

    /// Counts from here: what was added before is not the caller's.
    mutating func beginCount() -> Int {
        defer { statementCount = 0 }
        return statementCount
    }

    mutating func prepare(_ statement: Statement) {
        session.prepare(statement)
        statementCount += 1
    }
}
