import Bytes
import CPQ
import Reactor

/// The stand-in for PostgreSQL in a simulation. Connections get their sessions from it.
@Reactor
public protocol SimulatedServer: AnyObject, Sendable {
    /// A process requests a session. The server responds later by `SimulatedSession.accept` or `end`.
    func connect() -> SimulatedSession
    /// A batch has left a process. The server responds later by `SimulatedSession.answer`, in the order of arrival.
    func receive(_ batch: [SimulatedStatement], on session: SimulatedSession)
    /// A process has let go of its end.
    func closed(_ session: ObjectIdentifier)
}

/// A statement in flight: the name it was prepared under, or its text, and its parameters in binary form.
public struct SimulatedStatement: Sendable {
    public let name: String
    public let parameters: [[UInt8]?]
}

/// A session with a `SimulatedServer`. Everything sent goes to the server unchanged. The server must respond within a
/// turn of the session's process.
public final class SimulatedSession: ServerSession, @unchecked Sendable {
    // @unchecked: only the reactor uses it.
    private let server: any SimulatedServer
    private weak var handler: (any DescriptorHandler)?
    private var batch: [SimulatedStatement] = []
    private var events: [SessionEvent] = []
    private var next = 0
    private var isAccepted = false
    private var failure: DatabaseError?

    public init(_ server: some SimulatedServer) { self.server = server }

    deinit {
        let identity = ObjectIdentifier(self), server = server
        Reactor.assumeIsolated { server.closed(identity) }
    }

    // MARK: The server's side

    @Reactor public func accept() {
        isAccepted = true
        handler?.ready(.write)
    }

    /// Responds to the oldest batch without a response, with rows for each statement up to the end or the error.
    @Reactor public func answer(_ rows: [Rows], _ error: DatabaseError? = nil) {
        events += rows.map { .rows($0) }
        if let error { events.append(.error(error)) }
        events.append(.endOfBatch)
        handler?.ready(.read)
    }

    /// Ends the connection.
    @Reactor public func end() {
        failure = DatabaseError(.connectionFailure, "the simulation ended the connection")
        handler?.ready(.read)
    }

    // MARK: ServerSession

    public var socket: CInt? { nil }
    public func attach(_ handler: any DescriptorHandler) { self.handler = handler }
    public var isBroken: Bool { failure != nil }
    public var error: DatabaseError { failure ?? DatabaseError(.connectionFailure, "the connection was lost") }
    public var refusedToSend: Bool { false }

    public func continueConnecting() -> ConnectionStep {
        if let failure { return .failed(failure) }
        return isAccepted ? .connected : .waitToRead
    }

    public func prepare(_ statement: Statement) {
        batch.append(SimulatedStatement(name: SimulatedStatement.preparation, parameters: []))
    }

    public func execute(_ statement: Statement, _ build: (inout Parameters) -> Void) {
        batch.append(SimulatedStatement(name: statement.name, parameters: Parameters.encoded(build)))
    }

    public func execute(sql: String, _ build: (inout Parameters) -> Void) {
        batch.append(SimulatedStatement(name: sql, parameters: Parameters.encoded(build)))
    }

    public func sync() {
        let sent = batch
        batch = []
        guard failure == nil else { return }
        Reactor.assumeIsolated { server.receive(sent, on: self) }
    }

    public func flush() -> Bool { true }
    public func consumeInput() -> Bool { failure == nil }

    public func nextEvent() -> SessionEvent? {
        guard next < events.count else {
            events = []
            next = 0
            return nil
        }
        defer { next += 1 }
        return events[next]
    }

    public func takeCommitWaitCancellation() -> Bool { false }
}

extension SimulatedStatement {
    /// The name that stands for a preparation, which returns no rows.
    public static let preparation = ""
}

// MARK: Rows

/// A value in a row of a `SimulatedServer`, with its type: a NULL has one, too.
public struct SimulatedValue {
    let type: PostgresType
    let bytes: [UInt8]?

    public init<Value: PostgresValue>(_ value: Value?) {
        type = Value.postgresType
        bytes = value.map { value in
            var buffer = ByteBuffer(capacity: 16)
            value.encode(into: &buffer)
            return buffer.array
        }
    }
}

extension SimulatedValue {
    public init<Value: PostgresValue>(array: [Value]) {
        type = .array(Value.postgresType)
        bytes =
            Parameters.encoded { parameters in
                parameters.addArray(of: Value.postgresType)
                for value in array { parameters.append(value) }
            }[0]
    }
}

extension Rows {
    /// Creates the rows of a simulated statement, all with the same columns.
    public convenience init(simulating rows: [[SimulatedValue]]) {
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
