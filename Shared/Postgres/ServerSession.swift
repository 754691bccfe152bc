import Reactor

/// What libpq wants to wait for while it connects.
public enum ConnectionStep { case waitToRead, waitToWrite, connected, failed(DatabaseError) }

/// One step of the answer to a batch.
public enum SessionEvent { case rows(Rows), error(DatabaseError), skipped, endOfBatch, broken(DatabaseError) }

/// The session behind a `Connection`: libpq's, or in a simulation one that begins and ends in this process.
public protocol ServerSession: AnyObject {
    /// The descriptor to be watched. Nil: it calls the handler given to `attach` when there is something for it.
    var socket: CInt? { get }
    func attach(_ handler: any DescriptorHandler)
    var isBroken: Bool { get }
    var error: DatabaseError { get }
    func continueConnecting() -> ConnectionStep

    func prepare(_ statement: Statement)
    func execute(_ statement: Statement, _ build: (inout Parameters) -> Void)
    func execute(sql: String, _ build: (inout Parameters) -> Void)
    func sync()
    /// Once something could not be sent, nothing more is.
    var refusedToSend: Bool { get }
    /// Whether everything is on its way.
    func flush() -> Bool

    func consumeInput() -> Bool
    func nextEvent() -> SessionEvent?
    /// Whether the wait for a standby was cancelled since the last call.
    func takeCommitWaitCancellation() -> Bool
}

extension ServerSession {
    /// libpq's has a descriptor.
    func attach(_: any DescriptorHandler) {}
}
