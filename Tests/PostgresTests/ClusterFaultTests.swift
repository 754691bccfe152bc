import PostgresSupport
import Reactor
import TestSupport
import Testing

@testable import Postgres

/// Faults that strike a whole cluster: each test has one of its own.
@Suite(.timeLimit(.minutes(1))) struct ClusterFaultTests {
    let cluster: TestCluster
    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        cluster = TestCluster(settings: "synchronous_standby_names=absent", "synchronous_commit=local")
        database = try TestDatabase(on: cluster)
    }

    @Test("a backend killed outright leaves its batch in doubt, and the connection comes back")
    @Reactor func kill() async throws {
        let connection = await connect(database)
        let backend = try await connection.query(sql: "SELECT pg_backend_pid()")[0][0] as Int32
        let running = Submission("SELECT pg_sleep(30)", on: connection)
        await Reactor.sleep(for: .milliseconds(50))
        cluster.kill(backend: backend)
        await waitUntil { running.outcome != nil }
        #expect(running.summary == "unknown 08006")
        #expect(!connection.isUp)
        await waitUntil { connection.isUp }
    }

    @Test(
        "a commit whose wait for a standby an operator ends is in doubt, though PostgreSQL may call it a success",
        arguments: ["pg_cancel_backend", "pg_terminate_backend"])
    @Reactor func endedWait(by function: String) async throws {
        try database.execute("CREATE TABLE t (n bigint)")
        let connection = await connect(database, settings: [("synchronous_commit", "on")])
        let insert = Submission("INSERT INTO t VALUES (1)", on: connection)
        let cancel = "SELECT \(function)(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        await waitUntil { (try? database.query(cancel).count) == 1 }
        await waitUntil { insert.outcome != nil }
        #expect(insert.summary == "unknown 01000")
        #expect(try database.query("SELECT count(*) FROM t")[0][0] as Int64 == 1)
        await waitUntil { connection.isUp }
    }
}
