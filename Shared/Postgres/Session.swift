import CPQ

/// One libpq connection in non-blocking pipeline mode, closed when its owner lets go. It is the only place that calls
/// libpq for batches.
final class Session: ServerSession, @unchecked Sendable {
    // @unchecked: created on a helper thread, then handed to the reactor, the only user.
    private let handle: OpaquePointer

    /// The shard that all statements are for, and the prepared ones as they are for it, by name.
    private let shard: ShardNames?
    private let ofShard: [String: Statement]

    /// Set by the notice receiver, for the batch whose results are being read.
    private var commitWaitWasCancelled = false

    /// Reused by every execution.
    private var parameters = Parameters()

    /// Whether libpq has refused to take something. Then nothing more is sent: a batch that lacks a statement must not
    /// reach its Sync.
    private(set) var refusedToSend = false

    /// Begins to connect. Not called on the reactor, because it blocks while a host name is resolved, and writes the
    /// statements of a shard.
    init(
        _ keywords: [(String, String)], shard: ShardNames? = nil, _ users: UserRows = .ofShard,
        statements: [Statement] = []
    ) {
        self.shard = shard
        ofShard =
            shard.map { shard in
                Dictionary(
                    statements.map { ($0.name, shard.applied(to: $0, users)) }, uniquingKeysWith: { first, _ in first })
            } ?? [:]
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

    func prepare(_ statement: Statement) {
        let statement = ofShard[statement.name] ?? statement
        let types = statement.parameters.map(\.oid)
        attempt { PQsendPrepare(handle, statement.name, statement.sql, CInt(types.count), types) }
    }

    func execute(_ statement: Statement, _ build: (inout Parameters) -> Void) {
        encode(build)
        assert(
            parameters.types == (ofShard[statement.name] ?? statement).parameters,
            "\(statement.name) gets the parameters it declares")
        attempt {
            parameters.withArguments { arguments in
                PQsendQueryPrepared(
                    handle, statement.name, arguments.count, arguments.values, arguments.lengths, arguments.formats, 1)
            }
        }
    }

    func execute(sql: String, _ build: (inout Parameters) -> Void) {
        encode(build)
        let types = parameters.types.map(\.oid), sql = shard?.applied(to: sql) ?? sql
        attempt {
            parameters.withArguments { arguments in
                PQsendQueryParams(
                    handle, sql, arguments.count, types, arguments.values, arguments.lengths, arguments.formats, 1)
            }
        }
    }

    func sync() { attempt { PQpipelineSync(handle) } }

    private func encode(_ build: (inout Parameters) -> Void) {
        parameters.removeAll()
        build(&parameters)
        parameters.finish()
    }

    private func attempt(_ send: () -> CInt) {
        guard !refusedToSend else { return }
        refusedToSend = send() != 1
    }

    /// Whether everything has been handed to the kernel. A failed write shows when the response is read.
    func flush() -> Bool { PQflush(handle) == 0 }

    // MARK: Receiving

    func consumeInput() -> Bool { PQconsumeInput(handle) == 1 }

    /// The next step of what has arrived; nil if more must arrive first. Call only while a response is outstanding.
    func nextEvent() -> SessionEvent? {
        while !isBroken, PQisBusy(handle) == 0 {
            // NULL marks the end of each statement's results, but not of the Sync's.
            if let result = PQgetResult(handle) { return event(result) }
        }
        return nil
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
