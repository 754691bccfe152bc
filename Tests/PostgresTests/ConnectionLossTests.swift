import PostgresSupport
import Reactor
import TestSupport
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(1))) struct ConnectionLossTests {
    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        database = try TestDatabase()
    }

    @Test("a session that an operator ends during a statement fails its batch and loses the next; then it comes back")
    @Reactor func termination() async throws {
        let select = Statement("one", "SELECT 1::bigint")
        let connection = await connect(database, name: "victim", statements: [select])
        var losses = 0, returns = 0
        connection.onLoss { _ in losses += 1 }
        connection.onUp { returns += 1 }
        let running = Submission("SELECT pg_sleep(30)", on: connection)
        let waiting = Submission("SELECT 1", on: connection)
        await Reactor.sleep(for: .milliseconds(50))
        try database.endSessions(of: "victim")
        await waitUntil { returns == 1 }
        #expect(running.summary == "failed 57P01 0")
        #expect(waiting.summary == "unknown 08006")
        #expect(losses == 1)
        #expect(try await connection.query(select)[0][0] as Int64 == 1)
    }

    @Test("a session that reads a column whose type a migration changes is lost, and comes back with the new type")
    @Reactor func changedType() async throws {
        try database.execute("CREATE TABLE numbers (n smallint); INSERT INTO numbers VALUES (7)")
        let connection = await connect(database, statements: [Statement("number", "SELECT n FROM numbers")])
        let select = Statement("number", "SELECT n FROM numbers")
        #expect(try await connection.query(select)[0][0] as Int16 == 7)
        try database.execute("CREATE DOMAIN small AS smallint; ALTER TABLE numbers ALTER COLUMN n TYPE small")
        var returns = 0
        connection.onUp { returns += 1 }
        await #expect(throws: DatabaseError.self) { try await connection.query(select) }
        await waitUntil { returns == 1 }
        #expect(try await connection.query(select)[0][0] as Int16 == 7)
    }

    @Test("closing completes what is on its way, as lost, and nothing reconnects")
    @Reactor func close() async throws {
        let connection = await connect(database)
        let running = Submission("SELECT pg_sleep(30)", on: connection)
        connection.close()
        #expect(running.summary == "unknown 08003")
        await Reactor.sleep(for: .milliseconds(200))
        #expect(!connection.isUp)
    }

    @Test("a completion may close the connection that is calling it")
    @Reactor func closeInside() async throws {
        let connection = await connect(database)
        var outcomes = 0
        for _ in 0..<2 {
            connection.submit({ $0.execute(sql: "SELECT 1") }) { _ in
                outcomes += 1
                connection.close()
            }
        }
        await waitUntil { outcomes == 2 }
        #expect(!connection.isUp)
    }

    @Test("a statement that does not parse keeps the connection down until it does")
    @Reactor func unpreparable() async throws {
        let connection = database.open(statements: [Statement("count", "SELECT count(*) FROM later")])
        var errors: [DatabaseError] = []
        connection.onLoss { errors.append($0) }
        // A busy machine may lose an attempt to the connection's own deadline as well.
        await waitUntil { errors.count { $0.sqlState == .undefinedTable } >= 2 }
        #expect(!connection.isUp)
        try database.execute("CREATE TABLE later (n bigint)")
        await waitUntil { connection.isUp }
    }

    @Test("a server that is not there is tried again and again, without holding up the reactor")
    @Reactor func absent() async throws {
        let connection = Connection(ConnectionConfiguration(url: "host=/nowhere dbname=x", applicationName: "test"))
        var errors: [DatabaseError] = []
        connection.onLoss { errors.append($0) }
        connection.open()
        await waitUntil { errors.count >= 3 }
        connection.close()
        #expect(errors.allSatisfy { $0.sqlState == .connectionFailure })
        await #expect(throws: DatabaseError.self) { try await connection.query(sql: "SELECT 1") }
    }
}
