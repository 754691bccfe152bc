import Models
import Postgres
import Reactor
import SimulationSupport

/// PostgreSQL, as far as the services rely on it. A batch is a transaction whose outcome may remain unknown. The locks
/// of a session end with it. The second transaction on a conversation sees the effects of the first.
///
/// Transactions run one at a time, each at one moment between its arrival and its response. The row locks at the start
/// of every batch have the same effect on concurrent transactions.
@Reactor
final class Database {
    unowned let world: World
    var tables: Tables
    var locks = AdvisoryLocks()
    private var sessions: [ServerSideSession] = []
    private var sessionCount: Int32 = 0
    /// The number of sessions ended because other members considered them silent.
    var sessionsEnded = 0
    private(set) var isUp = true
    /// The probability that a batch fails, and that a connection breaks during it.
    var failure = 0.0
    var breakage = 0.0
    /// The delay of slow commits, in milliseconds.
    var slowness = 0
    /// Where everything that is carried out is written down, for the comparison with PostgreSQL.
    var transcript: Transcript?

    init(_ world: World, _ tables: Tables) {
        self.world = world
        self.tables = tables
    }

    func add(_ session: ServerSideSession) { sessions.append(session) }

    fileprivate func nextSessionNumber() -> Int32 {
        sessionCount += 1
        return sessionCount
    }

    /// Ends the sessions of a process that died without closing them.
    func processDied(_ node: Node) {
        for session in sessions where session.node === node {
            session.lose()
            end(session, after: world.fault(0.3) ? world.milliseconds(10...1500) : world.milliseconds(0...5))
        }
    }

    func cutOff(_ node: Node) {
        for session in sessions where session.node === node && world.chance(0.6) { cut(session) }
    }

    func cut(_ session: ServerSideSession) {
        session.lose()
        let notice = world.fault(0.3) ? world.milliseconds(10...900) : world.microseconds(50...2000)
        world.after(notice) { session.node.turn { session.client?.end() } }
        end(session, after: world.fault(0.3) ? world.milliseconds(10...1500) : world.milliseconds(0...5))
    }

    /// Frees the locks of a process for others while it still believes that it holds them. After `time`, all sessions
    /// of its kind end, and ownership starts over.
    func forgetLocks(of node: Node, for time: Duration) {
        for session in sessions where session.node === node {
            locks.forget(session)
            transcript?.unlocked(session.number)
        }
        world.after(time) { [self] in
            for session in sessions where session.node.kind == node.kind { cut(session) }
        }
    }

    /// Handles a client that closed its end properly.
    func closed(_ session: ServerSideSession) {
        session.lose()
        end(session, after: world.milliseconds(0...5))
    }

    private func end(_ session: ServerSideSession, after delay: Duration) {
        world.after(delay) { [self] in
            session.end()
            locks.release(session)
            transcript?.ended(session.number)
            sessions.removeAll { $0 === session }
        }
    }

    /// Restarts the server. Committed data survives.
    func restart(after pause: Duration) {
        isUp = false
        for session in sessions {
            session.end()
            locks.release(session)
            transcript?.ended(session.number)
            cut(session)
        }
        sessions = []
        world.after(pause) { [self] in isUp = true }
    }
}

/// The connection of a process to the database.
@Reactor
final class DatabasePort: SimulatedServer {
    private let database: Database
    private unowned let node: Node
    private var sessions: [ObjectIdentifier: ServerSideSession] = [:]

    init(_ database: Database, _ node: Node) {
        self.database = database
        self.node = node
    }

    var source: SessionSource { { self.connect() } }

    func connect() -> SimulatedSession {
        let client = SimulatedSession(self)
        let session = ServerSideSession(database, node, client)
        sessions[ObjectIdentifier(client)] = session
        database.world.after(database.world.milliseconds(1...4)) { [database, node] in
            if database.isUp {
                database.add(session)
                node.turn { client.accept() }
            } else {
                session.end()
                node.turn { client.end() }
            }
        }
        return client
    }

    func receive(_ batch: [SimulatedStatement], on client: SimulatedSession) {
        sessions[ObjectIdentifier(client)]?.receive(batch)
    }

    func closed(_ client: ObjectIdentifier) {
        if let session = sessions.removeValue(forKey: client) { database.closed(session) }
    }
}

/// The server's end of a connection.
@Reactor
final class ServerSideSession {
    let node: Node
    /// The process ID of the backend.
    let number: Int32
    /// Nil once the process has closed its end.
    private(set) weak var client: SimulatedSession?
    private let database: Database
    private var world: World { database.world }
    private var waiting: [[SimulatedStatement]] = []
    private var isWorking = false
    private var isConnected = true
    private var hasEnded = false
    private var towards = Line()
    private var back = Line()
    private var lastWork: MonotonicTime

    init(_ database: Database, _ node: Node, _ client: SimulatedSession) {
        self.database = database
        self.node = node
        self.client = client
        number = database.nextSessionNumber()
        lastWork = database.world.now
    }

    /// Whether the server has been idle for `bound`, waiting for its client.
    func isSilent(for bound: Duration) -> Bool { !isWorking && waiting.isEmpty && world.now - lastWork > bound }

    /// Breaks the connection. The server continues until it notices.
    func lose() { isConnected = false }

    func end() {
        hasEnded = true
        waiting = []
    }

    func receive(_ batch: [SimulatedStatement]) {
        world.at(towards.arrival(world.now + world.microseconds(30...200))) { [self] in
            guard isConnected, !hasEnded else { return }
            waiting.append(batch)
            startNext()
        }
    }

    private func startNext() {
        guard !isWorking, !waiting.isEmpty else { return }
        isWorking = true
        if world.fault(database.breakage) { database.cut(self) }
        let isSlow = database.slowness > 0 && world.fault(0.1)
        let delay = isSlow ? world.milliseconds(1...database.slowness) : world.microseconds(200...3000)
        world.after(delay) { [self] in
            isWorking = false
            lastWork = world.now
            guard !hasEnded, !waiting.isEmpty else { return }
            carryOut(waiting.removeFirst())
            startNext()
        }
    }

    private func carryOut(_ batch: [SimulatedStatement]) {
        if world.fault(database.failure) {
            world.note("\(node.kind) \(node.number) fails")
            let states = ["40001", "40P01", "57014", "53100", "25006"]
            return answer([], DatabaseError(SQLState(rawValue: states[world.pick(0...4)]), "by chance"))
        }
        let before = world.mutation == .commitsAreLost && world.chance(0.05) ? database.tables : nil
        let rows = batch.map { statement in
            let rows = database.execute(statement, by: self)
            database.transcript?.carriedOut(statement, rows)
            return Rows(simulating: rows)
        }
        database.transcript?.committed(by: number, at: database.clock, leaving: database.tables)
        if let before { database.tables = before }
        // The wait for a standby was cancelled after the commit, so the outcome stays unknown.
        let isDoubtful = world.fault(database.failure / 4)
        world.note("\(node.kind) \(node.number) commits \(batch.map { ($0.name ?? $0.sql).prefix(20) })")
        answer(rows, isDoubtful ? DatabaseError(SQLState(rawValue: "57014"), "by chance") : nil)
    }

    private func answer(_ rows: [Rows], _ error: DatabaseError?) {
        world.at(back.arrival(world.now + world.microseconds(30...200))) { [self] in
            if isConnected { node.turn { [client] in client?.answer(rows, error) } }
        }
    }
}

/// Locks that sessions hold until they end.
@Reactor
struct AdvisoryLocks {
    struct Key: Hashable {
        let lockClass: Int32
        let number: Int32
    }

    private var holders: [Key: ServerSideSession] = [:]
    /// Sessions that believe they hold a lock that others may take.
    private var believers: [Key: ServerSideSession] = [:]
    /// The number of locks taken while another session believed that it held them.
    private(set) var doubled = 0

    func holder(_ key: Key) -> ServerSideSession? { holders[key] }

    /// The holders, ordered by number.
    func holders(ofClass lockClass: Int32) -> [(Int32, ServerSideSession)] {
        holders.filter { $0.key.lockClass == lockClass }.map { ($0.key.number, $0.value) }.sorted { $0.0 < $1.0 }
    }

    /// Returns false if another session holds the lock.
    mutating func take(_ key: Key, _ session: ServerSideSession) -> Bool {
        if let holder = holders[key], holder !== session { return false }
        holders[key] = session
        if let believer = believers[key], believer !== session { doubled += 1 }
        return true
    }

    /// Returns whether the session held the lock.
    mutating func release(_ key: Key, _ session: ServerSideSession) -> Bool {
        guard holders[key] === session else { return false }
        holders[key] = nil
        return true
    }

    mutating func release(_ session: ServerSideSession) {
        holders = holders.filter { $0.value !== session }
        believers = believers.filter { $0.value !== session }
    }

    mutating func forget(_ session: ServerSideSession) {
        for (key, holder) in holders where holder === session { believers[key] = session }
        holders = holders.filter { $0.value !== session }
    }
}
