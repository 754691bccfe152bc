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
