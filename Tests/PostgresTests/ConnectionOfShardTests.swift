import PostgresSupport
import Reactor
import Synchronization
import TestSupport
import Testing

@testable import Postgres

/// What a connection to a shard on Citus does besides: something begins each of its batches, and it can rest.
@Suite(.timeLimit(.minutes(1))) struct ConnectionOfShardTests {
    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        database = try TestDatabase()
        try database.execute("CREATE TABLE opened (n integer); CREATE TABLE written (n integer)")
    }

    private var counts: [Int64] {
        get throws {
            let row = try database.query("SELECT (SELECT count(*) FROM opened), (SELECT count(*) FROM written)")[0]
            return [row[0], row[1]]
        }
    }

    @Test("what begins a batch is of its transaction, and its rows are not among the batch's")
    @Reactor func opening() async throws {
        let connection = await connect(database)
        connection.opening = {
            $0.execute(sql: "INSERT INTO opened VALUES (1) RETURNING 5::bigint")
            return { _ in }
        }
        guard case .committed(let rows) = await outcome(on: connection, { $0.execute(sql: "SELECT 7::bigint") }) else {
            Issue.record("the batch failed")
            return
        }
        #expect(rows.count == 1 && rows[0][0][0] as Int64 == 7)
        #expect(try counts == [1, 0])
        let failed = await outcome(on: connection) {
            $0.execute(sql: "INSERT INTO written VALUES (1)")
            $0.execute(sql: "SELECT 1 / 0")
        }
        guard case .failed(_, statement: 1) = failed else {
            Issue.record("\(failed)")
            return
        }
        #expect(try counts == [1, 0])
    }

    @Test("a batch whose beginning fails is rolled back, and that is told; no failure of its own is")
    @Reactor func failedOpening() async throws {
        let connection = await connect(database)
        var told: [SQLState] = []
        func begin(with sql: String) {
            connection.opening = {
                $0.execute(sql: sql)
                return { told.append($0.sqlState) }
            }
        }
        begin(with: "SELECT")
        let own = Submission("SELECT nothing", on: connection)
        await waitUntil { own.outcome != nil }
        #expect(own.summary == "failed 42703 0" && told.isEmpty)
        begin(with: "SELECT 1 / 0")
        let written = Submission("INSERT INTO written VALUES (1)", on: connection)
        await waitUntil { written.outcome != nil && !told.isEmpty }
        #expect(told == [SQLState(rawValue: "22012")])
        #expect(try counts == [0, 0])
    }

    @Test("of batches on their way, the one whose beginning has failed is told")
    @Reactor func failedOpeningOfOne() async {
        let connection = await connect(database)
        var begun = 0, failed: [Int] = []
        connection.opening = {
            begun += 1
            let number = begun
            $0.execute(sql: number == 2 ? "SELECT 1 / 0" : "SELECT")
            return { _ in failed.append(number) }
        }
        let batches = (1...3).map { _ in Submission("SELECT", on: connection) }
        await waitUntil { batches.allSatisfy { $0.outcome != nil } && !failed.isEmpty }
        #expect(failed == [2])
    }

    @Test("a connection that rests completes what is on its way, tells of a loss, and has no session until it opens")
    @Reactor func rest() async throws {
        let connection = await connect(database, name: "resting")
        var losses = 0
        connection.onLoss { _ in losses += 1 }
        let running = Submission("SELECT pg_sleep(0.1)", on: connection)
        connection.rest()
        #expect(!connection.isUp && losses == 1 && running.summary.hasPrefix("unknown"))
        connection.rest()
        #expect(losses == 2, "who began to wait meanwhile hears of it, too")
        await Reactor.sleep(for: .milliseconds(300))
        #expect(!connection.isUp)
        #expect(try database.query("SELECT FROM pg_stat_activity WHERE application_name = 'resting'").isEmpty)
        connection.open()
        await waitUntil { connection.isUp }
    }

    @Test("a connection that rests while its node is looked up begins anew, at the node that is meant then")
    @Reactor func restWhileResolving() async throws {
        let row = try database.query(
            "SELECT current_setting('unix_socket_directories'), current_setting('port')::integer")[0]
        let socket = (row[0] as String).split(separator: ",")[0]
        let node = NodeAddress(host: String(socket), port: row[1])
        let asked = Mutex(0)
        var configuration = ConnectionConfiguration(url: database.url, applicationName: "parley-test")
        configuration.node = {
            asked.withLock { $0 += 1 }
            return node
        }
        let connection = Connection(configuration)
        connection.open()
        connection.rest()
        connection.open()
        await waitUntil { connection.isUp }
        #expect(asked.withLock { $0 } == 2)
        connection.close()
    }

    // MARK: Statements are prepared when they are first executed

    /// A session whose statements `count` and `add` are for a shard that is the table `written`.
    @Reactor private func connectToShard() async -> Connection {
        let shard = ShardNames(tables: ["test.rows": "public.written"], views: [])
        var configuration = ConnectionConfiguration(
            url: database.url, applicationName: "parley-test", statements: [Self.count, Self.add])
        configuration.shard = shard
        let connection = Connection(configuration)
        connection.open()
        await waitUntil { connection.isUp }
        return connection
    }

    private static let count = Statement("count", "SELECT count(*) FROM test.rows")
    private static let add = Statement("add", parameters: [.int4], "INSERT INTO test.rows VALUES ($1)")

    @Reactor private func prepared(_ connection: Connection) async -> String {
        let outcome = await outcome(on: connection) {
            $0.execute(sql: "SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM pg_prepared_statements")
        }
        guard case .committed(let rows) = outcome else { return "\(outcome)" }
        return rows[0][0][0]
    }

    private func counts(_ outcome: BatchOutcome?) -> [Int64] {
        guard case .committed(let rows)? = outcome else { return [] }
        return rows.map { $0[0][0] }
    }

    @Test("of a shard's statements a session prepares those that it executes, and passes over what comes of it")
    @Reactor func preparedWhenExecuted() async throws {
        let connection = await connectToShard()
        defer { connection.close() }
        #expect(await prepared(connection) == "")
        let first = await outcome(on: connection) {
            $0.execute(Self.count)
            $0.execute(Self.count)
        }
        #expect(counts(first) == [0, 0])
        #expect(await prepared(connection) == "count")
        let second = await outcome(on: connection) {
            $0.execute(Self.add) { $0.add(Int32(1)) }
            $0.execute(Self.count)
        }
        guard case .committed(let rows) = second else {
            Issue.record("\(second)")
            return
        }
        #expect(rows.count == 2 && rows[1][0][0] as Int64 == 1)
        #expect(await prepared(connection) == "add count")
    }

    @Test("a batch that fails before it prepares a statement does no harm to those behind it, which execute it too")
    @Reactor func preparedBehindFailure() async throws {
        let connection = await connectToShard()
        defer { connection.close() }
        var outcomes: [BatchOutcome] = []
        func submit(_ build: (inout Batch) -> Void) { connection.submit(build) { outcomes.append($0) } }
        submit {
            $0.execute(sql: "SELECT 1 / 0")
            $0.execute(Self.count)
        }
        submit { $0.execute(Self.count) }
        submit { $0.execute(Self.count) }
        await waitUntil { outcomes.count == 3 }
        guard case .failed(let error, statement: 0) = outcomes[0] else {
            Issue.record("\(outcomes[0])")
            return
        }
        #expect(error.sqlState == SQLState(rawValue: "22012"))
        #expect(counts(outcomes[1]) == [0] && counts(outcomes[2]) == [0])
        #expect(await prepared(connection) == "")
        #expect(counts(await outcome(on: connection) { $0.execute(Self.count) }) == [0])
        #expect(await prepared(connection) == "count")
    }

    @Test("a statement that cannot be prepared fails the batch where it is executed, and only as long as it cannot")
    @Reactor func failedPreparation() async throws {
        let connection = await connectToShard()
        defer { connection.close() }
        try database.execute("ALTER TABLE written RENAME TO away")
        let failed = await outcome(on: connection) {
            $0.execute(sql: "SELECT 1")
            $0.execute(Self.count)
        }
        guard case .failed(let error, statement: 1) = failed else {
            Issue.record("\(failed)")
            return
        }
        #expect(error.sqlState == SQLState(rawValue: "42P01"))
        try database.execute("ALTER TABLE away RENAME TO written")
        #expect(counts(await outcome(on: connection) { $0.execute(Self.count) }) == [0])
    }
}
