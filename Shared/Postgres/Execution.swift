import Reactor

/// A statement with its parameters, apart from any session: to be sent to whichever session has the rows.
public struct Execution: Sendable {
    public let statement: Statement
    /// In binary form, in the order in which the statement declares them. NULL is nil.
    public var values: [[UInt8]?]

    public init(_ statement: Statement, values: [[UInt8]?]) {
        self.statement = statement
        self.values = values
    }

    /// The executions of prepared statements that `build` adds to a batch.
    public static func recorded(_ build: (inout Batch) -> Void) -> [Execution] {
        let recorder = Recorder()
        var batch = Batch(recorder)
        build(&batch)
        return recorder.executions
    }

    /// A session that only notes what it is to execute.
    private final class Recorder: ServerSession {
        var executions: [Execution] = []
        private var parameters = Parameters(capacity: 1024)

        var socket: CInt? { nil }
        var isBroken: Bool { false }
        var error: DatabaseError { .notConnected }
        var refusedToSend: Bool { false }

        func execute(_ statement: Statement, _ build: (inout Parameters) -> Void) {
            parameters.removeAll()
            build(&parameters)
            parameters.finish()
            executions.append(Execution(statement, values: parameters.values))
        }

        func execute(sql: String, _: (inout Parameters) -> Void) {
            preconditionFailure("only prepared statements are recorded: \(sql)")
        }

        func prepare(_: Statement) {}
        func sync() {}
        func flush() -> Bool { true }
        func continueConnecting() -> ConnectionStep { .failed(error) }
        func consumeInput() -> Bool { false }
        func nextEvent() -> SessionEvent? { nil }
        func takeCommitWaitCancellation() -> Bool { false }
    }
}
