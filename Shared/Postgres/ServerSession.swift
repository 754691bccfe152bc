import Reactor

/// A step of connecting: the event that libpq waits for, or the outcome.
public enum ConnectionStep { case waitToRead, waitToWrite, connected, failed(DatabaseError) }

/// One step of the response to a batch.
public enum SessionEvent { case rows(Rows), error(DatabaseError), skipped, endOfBatch, broken(DatabaseError) }

/// Begins the sessions of a connection.
public typealias SessionSource = @Reactor @Sendable () -> any ServerSession

/// The session behind a `Connection`: libpq's, or in a simulation one that begins and ends in this process.
public protocol ServerSession: AnyObject {
    /// The descriptor to watch. Nil: the session calls the handler given to `attach` when there is something for it.
    var socket: CInt? { get }
    func attach(_ handler: any DescriptorHandler)
    var isBroken: Bool { get }
    var error: DatabaseError { get }
    func continueConnecting() -> ConnectionStep

    func prepare(_ statement: Statement)
    func execute(_ statement: Statement, _ build: (inout Parameters) -> Void)
    func execute(sql: String, _ build: (inout Parameters) -> Void)
    func sync()
    /// Whether something could not be sent. Then nothing more is.
    var refusedToSend: Bool { get }
    /// Sends what is buffered. Returns whether everything is sent.
    func flush() -> Bool

    func consumeInput() -> Bool
    func nextEvent() -> SessionEvent?
    /// Whether the wait for a standby was cancelled since the last call.
    func takeCommitWaitCancellation() -> Bool
}

extension ServerSession {
    /// libpq's session has a descriptor, and needs no handler.
    func attach(_: any DescriptorHandler) {}
}
