import Postgres
import Reactor

/// The stand-in for PostgreSQL in a simulation. Connections get their sessions from it.
@Reactor
package protocol SimulatedServer: AnyObject, Sendable {
    /// A process requests a session. The server responds later by `SimulatedSession.accept` or `end`.
    func connect() -> SimulatedSession
    /// A batch has left a process. The server responds later by `SimulatedSession.answer`, in the order of arrival.
    func receive(_ batch: [SimulatedStatement], on session: SimulatedSession)
    /// A process has let go of its end.
    func closed(_ session: ObjectIdentifier)
}

/// A statement in flight, with its parameters in binary form.
package struct SimulatedStatement: Sendable {
    package enum Purpose: Sendable { case prepare, execute }

    package let purpose: Purpose
    /// The name it is prepared under; nil if it is sent as a text.
    package let name: String?
    package let sql: String
    package let types: [PostgresType]
    package let parameters: [[UInt8]?]

    /// The preparation of a statement.
    init(preparing statement: Statement) {
        purpose = .prepare
        name = statement.name
        sql = statement.sql
        types = statement.parameters
        parameters = []
    }

    /// The execution of a text, or of a statement that was prepared under a name.
    init(_ name: String?, _ sql: String, _ build: (inout Parameters) -> Void) {
        var parameters = Parameters(capacity: 256)
        build(&parameters)
        parameters.finish()
        purpose = .execute
        self.name = name
        self.sql = sql
        types = parameters.types
        self.parameters = parameters.values
    }
}

/// A session with a `SimulatedServer`. Everything sent goes to the server unchanged. The server must respond within a
/// turn of the session's process.
package final class SimulatedSession: ServerSession, @unchecked Sendable {
    // @unchecked: only the reactor uses it.
    private let server: any SimulatedServer
    private weak var handler: (any DescriptorHandler)?
    private var batch: [SimulatedStatement] = []
    private var events: [SessionEvent] = []
    private var next = 0
    private var isAccepted = false
    private var failure: DatabaseError?

    package init(_ server: some SimulatedServer) { self.server = server }

    deinit {
        let identity = ObjectIdentifier(self), server = server
        Reactor.assumeIsolated { server.closed(identity) }
    }

    // MARK: The server's side

    @Reactor package func accept() {
        isAccepted = true
        handler?.ready(.write)
    }

    /// Responds to the oldest batch without a response, with rows for each statement up to the end or the error.
    @Reactor package func answer(_ rows: [Rows], _ error: DatabaseError? = nil) {
        events += rows.map { .rows($0) }
        if let error { events.append(.error(error)) }
        events.append(.endOfBatch)
        handler?.ready(.read)
    }

    /// Ends the connection.
    @Reactor package func end() {
        failure = DatabaseError(.connectionFailure, "the simulation ended the connection")
        handler?.ready(.read)
    }

    // MARK: ServerSession

    package var socket: CInt? { nil }
    package func attach(_ handler: any DescriptorHandler) { self.handler = handler }
    package var isBroken: Bool { failure != nil }
    package var error: DatabaseError { failure ?? DatabaseError(.connectionFailure, "the connection was lost") }
    package var refusedToSend: Bool { false }

    package func continueConnecting() -> ConnectionStep {
        if let failure { return .failed(failure) }
        return isAccepted ? .connected : .waitToRead
    }

    package func prepare(_ statement: Statement) { batch.append(SimulatedStatement(preparing: statement)) }

    package func execute(_ statement: Statement, _ build: (inout Parameters) -> Void) {
        batch.append(SimulatedStatement(statement.name, statement.sql, build))
    }

    package func execute(sql: String, _ build: (inout Parameters) -> Void) {
        batch.append(SimulatedStatement(nil, sql, build))
    }

    package func sync() {
        let sent = batch
        batch = []
        guard failure == nil else { return }
        Reactor.assumeIsolated { server.receive(sent, on: self) }
    }

    package func flush() -> Bool { true }
    package func consumeInput() -> Bool { failure == nil }

    package func nextEvent() -> SessionEvent? {
        guard next < events.count else {
            events = []
            next = 0
            return nil
        }
        defer { next += 1 }
        return events[next]
    }

    package func takeCommitWaitCancellation() -> Bool { false }
}
