import Reactor

/// A connection to PostgreSQL that lives on the reactor, never blocks it, and reconnects by itself.
///
/// Work is submitted as batches. A batch is an ordered list of statements ended by one Sync, which makes it one
/// implicit transaction (PostgreSQL Documentation 34.5 and 55.2.3). Several batches may be in flight. They complete in
/// the order of their submission. A completion runs synchronously when the Sync's response is read. It may submit the
/// next batch first, so that the server works while the process encodes.
///
/// A statement that returns a column whose type a migration changed cannot be executed any more in the session that
/// prepared it: "cached plan must not change result type" (`feature_not_supported`; plancache.c). So that error ends the
/// session, and the next one prepares everything anew.
@Reactor
public final class Connection: DescriptorHandler {
    public typealias Completion = @Reactor (BatchOutcome) -> Void

    private let configuration: ConnectionConfiguration
    private var state = State.down
    private var inFlight = FIFO<InFlightBatch>()
    private var backoff = Backoff()
    /// Selects the address to connect to. It stays while that address serves, so after a restart it is tried first.
    private var attemptNumber = 0
    private var random = ProcessRandom()
    private var watchedSocket: CInt?
    private var isWaitingToWrite = false
    private var isResolving = false
    /// Whether what is being resolved is of before a rest: the node may be another one now.
    private var isResolvingOld = false
    /// Whether it has no session and looks for none, until `open`.
    public private(set) var isResting = true
    private var attemptDeadline: TimerID?
    private var upObservers: [@Reactor () -> Void] = []
    private var lossObservers: [@Reactor (DatabaseError) -> Void] = []

    /// Begins each batch that is submitted, and returns what is called at the end of the turn in which one of its statements
    /// has failed. They are of the batch's transaction; their rows are not among those of its outcome.
    public var opening: Opening?
    public typealias Opening = @Reactor (inout Batch) -> OpeningFailure
    public typealias OpeningFailure = @Reactor (DatabaseError) -> Void

    /// The time in which the session must be set up once the server has accepted it.
    private static let setUpTimeout = Duration.seconds(5)

    private enum State {
        /// Before `open`, or between two attempts.
        case down
        /// A helper thread resolves the host's name.
        case resolving
        case connecting(any ServerSession)
        case settingUp(any ServerSession)
        case up(any ServerSession)
        case closed
    }

    private struct InFlightBatch {
        var progress: BatchProgress
        /// Whether libpq accepted all of it, including the Sync.
        let isSent: Bool
        let openingFailed: OpeningFailure?
        let completion: Completion
    }

    public init(_ configuration: ConnectionConfiguration) { self.configuration = configuration }

    /// Whether batches may be submitted: connected, session set up, statements prepared.
    public var isUp: Bool {
        if case .up = state { true } else { false }
    }

    /// The number of submitted batches without a response.
    public var inFlightCount: Int { isUp ? inFlight.count : 0 }

    /// Calls `body` each time the connection comes up. Observers are called in the order they were added.
    public func onUp(_ body: @escaping @Reactor () -> Void) { upObservers.append(body) }

    /// Calls `body` each time an established connection is lost, after its batches have completed, and each time an
    /// attempt to connect fails.
    public func onLoss(_ body: @escaping @Reactor (DatabaseError) -> Void) { lossObservers.append(body) }

    // MARK: Connecting

    /// Connects, and reconnects whenever the connection is lost, until `rest` or `close`.
    public func open() {
        isResting = false
        guard case .down = state else { return }
        state = .resolving
        giveUp(after: configuration.connectTimeout)
        resolve()
    }

    private func giveUp(after timeout: Duration) {
        cancelDeadline()
        attemptDeadline = Reactor.after(timeout) { [weak self] in
            self?.lose(DatabaseError(.connectionFailure, "no connection within \(timeout)"))
        }
    }

    /// Begins a session on a helper thread, because resolving a name blocks its thread. There is one at a time. While a
    /// resolver hangs, later attempts wait for the same result.
    private func resolve() {
        if let begin = configuration.sessionSource { return resolved(begin()) }
        guard !isResolving else { return }
        isResolving = true
        let configuration = configuration, number = attemptNumber
        Reactor.spawn { [weak self] in
            let session = await Task.detached {
                Session(
                    configuration.keywords(forAttempt: number), shard: configuration.shard, configuration.users)
            }.value
            self?.resolved(session)
        }
    }

    /// Ends the connection for good. Batches in flight complete first, as lost; then observers are notified of the
    /// loss.
    public func close() {
        let wasUp = isUp
        let error = DatabaseError(.connectionDoesNotExist, "the connection was closed")
        release(error, next: .closed)
        if wasUp { notifyLoss(error) }
    }

    /// Ends the session and stays without one until `open`. Batches in flight complete first, as lost; then observers are
    /// notified of a loss.
    public func rest() {
        if case .closed = state { return }
        let error = DatabaseError(.connectionDoesNotExist, "the connection rests")
        isResting = true
        isResolvingOld = isResolving
        release(error, next: .down)
        notifyLoss(error)  // Also while it was down: what waits for it to come up is to wait no more.
    }

    /// Ends the session, as if it had been lost, and connects again. It is for sessions whose state on the server is
    /// not known. Batches in flight complete first, as lost.
    public func giveUpSession(_ reason: String) {
        if isUp { lose(DatabaseError(.connectionDoesNotExist, reason)) }
    }

    private func resolved(_ session: any ServerSession) {
        let isOld = isResolvingOld
        isResolving = false
        isResolvingOld = false
        guard case .resolving = state else { return }
        guard !isOld else { return resolve() }
        state = .connecting(session)
        // libpq wants the first poll after the socket became writable (34.1).
        session.isBroken ? lose(session.error) : watch(session, for: .write)
    }

    private func continueConnecting(_ session: any ServerSession) {
        // libpq may close the socket and open another one for the next address.
        unwatch()
        switch session.continueConnecting() {
        case .waitToRead: watch(session, for: .read)
        case .waitToWrite: watch(session, for: .write)
        case .failed(let error): lose(error)
        case .connected:
            watch(session, for: .read)
            setUp(session)
        }
    }

    /// Sends settings and statements as one batch, before anything the owner submits. Statements of a shard wait for their first
    /// execution.
    private func setUp(_ session: any ServerSession) {
        state = .settingUp(session)
        giveUp(after: Self.setUpTimeout)
        send(
            on: session,
            { batch in
                for (name, value) in ConnectionConfiguration.defaultSettings + configuration.settings {
                    batch.execute(sql: "SELECT set_config($1, $2, false)") { parameters in
                        parameters.add(name)
                        parameters.add(value)
                    }
                }
                if let sql = configuration.preparation { batch.execute(sql: sql) }
                if configuration.shard == nil {
                    for statement in configuration.statements { batch.prepare(statement) }
                }
            }, completion: { [unowned self] in isSetUp(session, $0) })
    }

    private func isSetUp(_ session: any ServerSession, _ outcome: BatchOutcome) {
        switch outcome {
        case .committed:
            state = .up(session)
            backoff.reset()
            cancelDeadline()
            for observer in upObservers { observer() }
        case .failed(let error, _), .unknown(let error):
            // A loss completes this batch too, and has already reached `lose`.
            if case .settingUp = state { lose(error) }
        }
    }

    // MARK: Losing

    private func lose(_ error: DatabaseError) {
        if !isUp { attemptNumber += 1 }
        release(error, next: .down)
        notifyLoss(error)
        guard case .down = state else { return }
        // One pause for a round of the hosts, not for each.
        let pause = backoff.delay(using: &random) / configuration.hostCount
        Reactor.after(pause) { [weak self] in
            if let self, !isResting { open() }
        }
    }

    private func notifyLoss(_ error: DatabaseError) {
        for observer in lossObservers { observer(error) }
    }

    private func release(_ error: DatabaseError, next: State) {
        cancelDeadline()
        unwatch()
        state = next
        let lost = inFlight
        inFlight = FIFO()
        // Only the last batch can be stuck in libpq's buffer: its Sync is the last thing there.
        let isLastStuck = isWaitingToWrite
        isWaitingToWrite = false
        for (index, batch) in lost.enumerated() {
            let isUnreached = !batch.isSent || (isLastStuck && index == lost.count - 1)
            batch.completion(batch.progress.outcome(ofLoss: error, isUnreached: isUnreached))
        }
    }

    private func cancelDeadline() {
        if let attemptDeadline { Reactor.cancel(attemptDeadline) }
        attemptDeadline = nil
    }

    // MARK: Sending

    /// Sends the statements that `build` adds as one transaction. Only while `isUp`.
    public func submit(_ build: (inout Batch) -> Void, completion: @escaping Completion) {
        guard case .up(let session) = state else { preconditionFailure("batches are submitted while `isUp`") }
        send(on: session, opening: opening, build, completion: completion)
    }

    private func send(
        on session: any ServerSession, opening: Opening? = nil, _ build: (inout Batch) -> Void,
        completion: @escaping Completion
    ) {
        var batch = Batch(session)
        let openingFailed = opening?(&batch)
        let openingCount = batch.beginCount()
        build(&batch)
        session.sync()
        inFlight.append(
            InFlightBatch(
                progress: BatchProgress(statementCount: batch.statementCount, openingCount: openingCount),
                isSent: !session.refusedToSend, openingFailed: openingFailed, completion: completion))
        flush(session)
        if session.refusedToSend || session.isBroken { loseAtEndOfTurn(session) }
    }

    /// Deferred: a completion never runs before `submit` has returned.
    private func loseAtEndOfTurn(_ session: any ServerSession) {
        Reactor.atEndOfTurn { [weak self] in
            if let self, isCurrent(session) { lose(session.error) }
        }
    }

    private func flush(_ session: any ServerSession) {
        let isPending = !session.flush()
        // libpq reads when it cannot write, and closes the socket when it finds the end of the stream.
        guard isPending != isWaitingToWrite, !session.isBroken, let watchedSocket else { return }
        isWaitingToWrite = isPending
        Reactor.change(watchedSocket, to: isPending ? [.read, .write] : .read)
    }

    // MARK: Receiving

    public func ready(_ readiness: Readiness) {
        switch state {
        case .connecting(let session): continueConnecting(session)
        case .settingUp(let session), .up(let session): exchange(session, readiness)
        case .down, .resolving, .closed: break
        }
    }

    private func exchange(_ session: any ServerSession, _ readiness: Readiness) {
        if readiness.contains(.write) { flush(session) }
        guard session.consumeInput() else { return lose(session.error) }
        while !inFlight.isEmpty, let event = session.nextEvent() {
            handle(event, session)
            // A completion may have closed the connection.
            guard isCurrent(session) else { return }
        }
        if session.isBroken { lose(session.error) }
    }

    private func handle(_ event: SessionEvent, _ session: any ServerSession) {
        if session.takeCommitWaitCancellation() { inFlight.updateFirst { $0.progress.commitWaitWasCancelled() } }
        switch event {
        case .rows(let rows): inFlight.updateFirst { $0.progress.returned(rows) }
        case .error(let error) where isUp && error.sqlState == .featureNotSupported: lose(error)
        case .error(let error):
            if let batch = inFlight.first, batch.progress.isOpening, let openingFailed = batch.openingFailed {
                Reactor.atEndOfTurn { openingFailed(error) }
            }
            inFlight.updateFirst { $0.progress.failed(error) }
        case .skipped: break
        case .endOfBatch:
            guard let batch = inFlight.popFirst() else { return }
            batch.completion(batch.progress.outcome)
        case .broken(let error): lose(error)
        }
    }

    private func isCurrent(_ session: any ServerSession) -> Bool {
        switch state {
        case .connecting(let current), .settingUp(let current), .up(let current): current === session
        case .down, .resolving, .closed: false
        }
    }

    private func watch(_ session: any ServerSession, for interest: Interest) {
        guard let socket = session.socket else { return session.attach(self) }
        watchedSocket = socket
        Reactor.watch(socket, for: interest, handler: self)
    }

    private func unwatch() {
        if let watchedSocket { Reactor.forget(watchedSocket) }
        watchedSocket = nil
    }
}
