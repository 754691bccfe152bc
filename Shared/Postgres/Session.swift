import CPQ

/// One libpq connection in non-blocking pipeline mode, closed when its owner lets go. It is the only place that calls
/// libpq for batches.
final class Session: ServerSession, @unchecked Sendable {
    // @unchecked: created on a helper thread, then handed to the reactor, the only user.
    private let handle: OpaquePointer

    /// Nil, as everywhere but on Citus: all statements are as they are, and prepared before they are executed.
    private var ofShard: StatementsOfShard?

    /// Set by the notice receiver, for the batch whose results are being read.
    private var commitWaitWasCancelled = false

    /// Reused by every execution.
    private var parameters = Parameters()

    /// Whether libpq has refused to take something. Then nothing more is sent: a batch that lacks a statement must not
    /// reach its Sync.
    private(set) var refusedToSend = false

    /// Begins to connect. Not called on the reactor, because it blocks while a host name is resolved.
    init(_ keywords: [(String, String)], shard: ShardNames? = nil, _ users: UserRows = .ofShard) {
        ofShard = shard.map { StatementsOfShard($0, users) }
        let names = CStringArray(keywords.map(\.0)), values = CStringArray(keywords.map(\.1))
        let expandsURL: CInt = 1
        guard let handle = PQconnectStartParams(names.pointer, values.pointer, expandsURL) else {
            preconditionFailure("libpq could not allocate a connection")
        }
        self.handle = handle
        receiveNotices()
    }

    deinit { PQfinish(handle) }

    var socket: CInt? { PQsocket(handle) }
    var isBroken: Bool { PQstatus(handle) == CONNECTION_BAD }

    /// libpq's own message, for failures that the server did not report.
    var error: DatabaseError {
        let text = String(cString: PQerrorMessage(handle))
        return DatabaseError(.connectionFailure, text.isEmpty ? "the connection was lost" : text.trimmedLines)
    }

    // MARK: Connecting

    func continueConnecting() -> ConnectionStep {
        switch PQconnectPoll(handle) {
        case PGRES_POLLING_READING: return .waitToRead
        case PGRES_POLLING_WRITING: return .waitToWrite
        case PGRES_POLLING_OK:
            guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { return .failed(error) }
            return .connected
        default: return .failed(error)
        }
    }

    // MARK: Sending

    // The PQsend functions copy into libpq's output buffer and return 1. They refuse only if the connection is lost or
    // memory is exhausted, and both end the session.

    func prepare(_ statement: Statement) { prepare(statement, ofShard: nil) }

    /// - Parameter ofShard: its name, if it is prepared for the command that follows: nobody waits for the result.
    private func prepare(_ statement: Statement, ofShard name: String?) {
        let types = statement.parameters.map(\.oid)
        send(preparing: name) { PQsendPrepare(handle, statement.name, statement.sql, CInt(types.count), types) }
    }

    func execute(_ statement: Statement, _ build: (inout Parameters) -> Void) {
        encode(build)
        let statement = ofShard?.written(statement) ?? statement
        assert(parameters.types == statement.parameters, "\(statement.name) gets the parameters it declares")
        switch ofShard?.execution(of: statement.name) ?? .prepared {
        case .prepared: break
        case .preparedBefore: prepare(statement, ofShard: statement.name)
        case .unprepared: return execute(sql: statement.sql)
        }
        send {
            parameters.withArguments { arguments in
                PQsendQueryPrepared(
                    handle, statement.name, arguments.count, arguments.values, arguments.lengths, arguments.formats, 1)
            }
        }
    }

    func execute(sql: String, _ build: (inout Parameters) -> Void) {
        encode(build)
        execute(sql: ofShard?.shard.applied(to: sql) ?? sql)
    }

    /// With the parameters that are encoded.
    private func execute(sql: String) {
        let types = parameters.types.map(\.oid)
        send {
            parameters.withArguments { arguments in
                PQsendQueryParams(
                    handle, sql, arguments.count, types, arguments.values, arguments.lengths, arguments.formats, 1)
            }
        }
    }

    func sync() {
        send { PQpipelineSync(handle) }
        ofShard?.sentSync()
    }

    private func encode(_ build: (inout Parameters) -> Void) {
        parameters.removeAll()
        build(&parameters)
        parameters.finish()
    }

    private func send(preparing name: String? = nil, _ command: () -> CInt) {
        guard !refusedToSend else { return }
        refusedToSend = command() != 1
        ofShard?.sent(preparing: name)
    }

    /// Whether everything has been handed to the kernel. A failed write shows when the response is read.
    func flush() -> Bool { PQflush(handle) == 0 }

    // MARK: Receiving

    func consumeInput() -> Bool { PQconsumeInput(handle) == 1 }

    /// The next step of what has arrived; nil if more must arrive first. Call only while a response is outstanding.
    func nextEvent() -> SessionEvent? {
        while !isBroken, PQisBusy(handle) == 0 {
            // NULL marks the end of each statement's results, but not of the Sync's.
            guard let result = PQgetResult(handle) else { continue }
            if let name = ofShard?.received(), isUneventful(result, preparing: name) {
                PQclear(result)
            } else {
                return event(result)
            }
        }
        return nil
    }

    /// Whether the result of preparing a statement is to be passed over. An error is the batch's, at the execution that follows.
    private func isUneventful(_ result: OpaquePointer, preparing name: String) -> Bool {
        let status = PQresultStatus(result)
        ofShard?.ended(preparing: name, succeeded: status == PGRES_COMMAND_OK)
        return status == PGRES_COMMAND_OK || status == PGRES_PIPELINE_ABORTED
    }

    private func event(_ result: OpaquePointer) -> SessionEvent {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return .rows(Rows(result))
        case PGRES_PIPELINE_SYNC:
            PQclear(result)
            return .endOfBatch
        case PGRES_PIPELINE_ABORTED:
            PQclear(result)
            return .skipped
        default:
            defer { PQclear(result) }
            return DatabaseError(serverErrorIn: result).map(SessionEvent.error) ?? .broken(error)
        }
    }

    // MARK: Notices

    /// Without a receiver libpq prints notices to standard error.
    private func receiveNotices() {
        PQsetNoticeReceiver(
            handle,
            { context, result in
                guard let context, let result else { return }
                Unmanaged<Session>.fromOpaque(context).takeUnretainedValue().noticed(result)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func takeCommitWaitCancellation() -> Bool {
        defer { commitWaitWasCancelled = false }
        return commitWaitWasCancelled
    }

    /// Detects a cancelled wait for a standby, which reports success and this warning. It is recognised by the function
    /// that raises it, since its text is translated and its SQLSTATE is only "warning".
    private func noticed(_ notice: OpaquePointer) {
        if DiagnosticField.sourceFunction.text(in: notice) == "SyncRepWaitForLSN" {
            commitWaitWasCancelled = true
        }
    }
}

extension String {
    /// libpq ends its messages with a line feed and joins several with it.
    var trimmedLines: String { split(separator: "\n").joined(separator: "; ") }
}
