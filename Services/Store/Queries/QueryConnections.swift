import Postgres
import Reactor

/// The connections for queries, shared in turns among requesters (`QueryTurns`).
///
/// A turn ends when its rows have arrived, so each connection has at most two results in flight, whoever requests how
/// much.
@Reactor
final class QueryConnections {
    let connections: [Connection]
    private var turns: QueryTurns
    /// On Citus, of the connections of a shard: what knows where the rows are.
    weak var reads: ShardReads?
    private var waiting: [QueryTurns.Ticket: UnsafeContinuation<QueryTurns.Turn?, Never>] = [:]

    /// - Parameter depth: the turns in flight on one connection.
    init(_ configuration: ConnectionConfiguration, count: Int, depth: Int = 2) {
        connections = (0..<count).map { _ in Connection(configuration) }
        turns = QueryTurns(connections: count, depth: depth)
        for connection in connections {
            connection.onUp { [weak self] in self?.giveTurns() }
            connection.onLoss { [weak self] _ in self?.dismissIfDown() }
        }
    }

    /// Whether any connection is up.
    var isUp: Bool { connections.contains(where: \.isUp) }

    var waitingCount: Int { waiting.count }

    func open() { for connection in connections { connection.open() } }
    func rest() { for connection in connections { connection.rest() } }
    func close() { for connection in connections { connection.close() } }

    /// Calls `body` each time one of the connections comes up.
    func onUp(_ body: @escaping @Reactor () -> Void) { for connection in connections { connection.onUp(body) } }

    /// Calls `body` each time one of the connections is lost.
    func onLoss(_ body: @escaping @Reactor () -> Void) {
        for connection in connections { connection.onLoss { _ in body() } }
    }

    // MARK: Reading

    func query(
        _ statement: Statement, _ weight: QueryTurns.Weight = .light, _ build: (inout Parameters) -> Void = { _ in }
    ) async throws(DatabaseError) -> Rows {
        try await transaction(weight) { $0.execute(statement, build) }[0]
    }

    func query<Input, Columns>(
        _ prepared: PreparedStatement<Input, Columns>, _ weight: QueryTurns.Weight = .light,
        _ build: (inout Parameters, Input) -> Void
    ) async throws(DatabaseError) -> Rows {
        try await transaction(weight) { $0.execute(prepared, build) }[0]
    }

    /// Runs a batch in a turn of the task's requester, and returns the rows of each statement. On Citus they are read where they
    /// are.
    func transaction(
        _ weight: QueryTurns.Weight = .light, _ build: (inout Batch) -> Void
    ) async throws(DatabaseError) -> [Rows] {
        if let reads { return try await reads.transaction(Execution.recorded(build), weight, by: self) }
        return try await ownTransaction(weight, build)
    }

    /// The same with the tables of these connections alone.
    func ownTransaction(
        _ weight: QueryTurns.Weight = .light, _ build: (inout Batch) -> Void
    ) async throws(DatabaseError) -> [Rows] {
        guard let turn = await turn(of: .current, weight) else { throw .notConnected }
        guard connections[turn.connection].isUp else {
            end(turn)
            throw .notConnected
        }
        let outcome = await withUnsafeContinuation { (continuation: UnsafeContinuation<BatchOutcome, Never>) in
            connections[turn.connection].submit(build) { [self] outcome in
                end(turn)
                continuation.resume(returning: outcome)
            }
        }
        switch outcome {
        case .committed(let rows): return rows
        case .failed(let error, _), .unknown(let error): throw error
        }
    }

    // MARK: Turns

    /// Waits for a turn. Returns nil when no connection is up.
    private func turn(of requester: Requester, _ weight: QueryTurns.Weight) async -> QueryTurns.Turn? {
        guard isUp else { return nil }
        let ticket = turns.wait(requester, weight, goesOn: Requester.progress?.hasBegun ?? false)
        Requester.progress?.hasBegun = true
        if let turn = giveTurns(except: ticket) { return turn }
        return await withUnsafeContinuation { waiting[ticket] = $0 }
    }

    /// Grants all turns that can be granted now. Returns the turn of `ticket`, which is not waiting yet.
    @discardableResult
    private func giveTurns(except ticket: QueryTurns.Ticket? = nil) -> QueryTurns.Turn? {
        var own: QueryTurns.Turn?
        while let turn = turns.next(at: .now, isUp: { connections[$0].isUp }) {
            if turn.ticket == ticket {
                own = turn
            } else {
                waiting.removeValue(forKey: turn.ticket)?.resume(returning: turn)
            }
        }
        return own
    }

    private func end(_ turn: QueryTurns.Turn) {
        let now = MonotonicTime.now
        if let rested = turns.ended(turn, at: now) {
            Reactor.after(rested - now) { [weak self] in
                self?.turns.rested(turn.requester, at: .now)
                self?.giveTurns()
            }
        }
        giveTurns()
    }

    /// Ends all waits at once if no connection is up. The requests are repeated, here or at another store.
    private func dismissIfDown() {
        guard !isUp else { return }
        for ticket in turns.dismissAll() { waiting.removeValue(forKey: ticket)?.resume(returning: nil) }
    }
}
