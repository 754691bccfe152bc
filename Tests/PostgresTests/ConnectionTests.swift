import Models
import Reactor
import TestSupport
import Testing
import PostgresSupport

@testable import Postgres

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        database = try TestDatabase()
    }

    @Test("every supported type comes back as it was sent, NULL included")
    @Reactor func types() async throws {
        let connection = await connect(database)
        let uuid = UUIDBytes("0190b1a2-3c4d-7e5f-8a6b-7c8d9e0f1a2b")!
        let rows = try await connection.query(sql: "SELECT $1, $2, $3, $4, $5, $6, $7, $8") { parameters in
            parameters.add(Int16.min)
            parameters.add(Int32.max)
            parameters.add(Int64.min)
            parameters.add(true)
            parameters.add(uuid)
            parameters.add("naïve 🙂")
            parameters.add(Timestamp(milliseconds: -1))
            parameters.addNull(.text)
        }
        let row = rows[0]
        #expect(row[0] as Int16 == .min)
        #expect(row[1] as Int32 == .max)
        #expect(row[2] as Int64 == .min)
        #expect(row[3] as Bool)
        #expect(row[4] as UUIDBytes == uuid)
        #expect(row[5] as String == "naïve 🙂")
        #expect(row[6] as Timestamp == Timestamp(milliseconds: -1))
        #expect(row[7] as String? == nil && row.isNull(7))
        #expect(row[5] as String? == "naïve 🙂")
    }

    @Test("arrays come back element by element, empty ones and NULL elements included")
    @Reactor func arrays() async throws {
        let connection = await connect(database)
        let rows = try await connection.query(
            sql: "SELECT a, b, c FROM unnest($1, $2, $3) AS t (a, b, c)"
        ) { parameters in
            parameters.addArray(of: .int2)
            for number in [Int16(1), 2, 3] { parameters.append(number) }
            parameters.addArray(of: .text)
            parameters.append("one")
            parameters.appendNull()
            parameters.append("")
            parameters.addArray(of: .uuid)
        }
        #expect(rows.map { $0[0] as Int16 } == [1, 2, 3])
        #expect(rows.map { $0[1] as String? } == ["one", nil, ""])
        #expect(rows.allSatisfy { $0.isNull(2) })
    }

    @Test("arrays in results are read whole", arguments: [[], [7], [1, -2, .max]] as [[Int64]])
    @Reactor func arrayResults(numbers: [Int64]) async throws {
        let connection = await connect(database)
        let rows = try await connection.query(sql: "SELECT $1") { parameters in
            parameters.addArray(of: .int8)
            for number in numbers { parameters.append(number) }
        }
        #expect(rows[0].array(0) == numbers)
    }

    @Test("batches in flight are answered in order, and a completion may submit the next one")
    @Reactor func order() async throws {
        let select = Statement("number", parameters: [.int8], "SELECT $1")
        let connection = await connect(database, statements: [select])
        var responses: [Int64] = []
        func submit(_ number: Int64) {
            connection.submit {
                $0.execute(select) { $0.add(number) }
            } completion: { outcome in
                if number < 10 { submit(number + 2) }
                guard case .committed(let rows) = outcome else { return }
                responses.append(rows[0][0][0])
            }
        }
        submit(1)
        submit(2)
        #expect(connection.inFlightCount == 2 && responses.isEmpty)
        await waitUntil { responses.count == 11 }
        #expect(responses == Array(1...11))
    }

    @Test("a batch with a failing statement is rolled back and names the culprit; the next batch is not touched")
    @Reactor func failingStatement() async throws {
        try database.execute("CREATE TABLE t (n bigint PRIMARY KEY)")
        let insert = Statement("insert", parameters: [.int8], "INSERT INTO t VALUES ($1)")
        let connection = await connect(database, statements: [insert])
        var outcomes: [BatchOutcome] = []
        func submit(_ numbers: Int64...) {
            connection.submit { batch in
                for number in numbers { batch.execute(insert) { $0.add(number) } }
            } completion: {
                outcomes.append($0)
            }
        }
        submit(1, 2, 1, 3)
        submit(1, 5)
        await waitUntil { outcomes.count == 2 }
        guard case .failed(let error, statement: 2) = outcomes[0], case .committed(let rows) = outcomes[1] else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(error.sqlState == .uniqueViolation && error.constraint == "t_pkey" && !error.isFatal)
        #expect(rows.map(\.affectedCount) == [1, 1])
        #expect(try database.query("SELECT n FROM t ORDER BY n").map { $0[0] as Int64 } == [1, 5])
    }

    @Test("an error that only the commit finds is a failure of no statement")
    @Reactor func failingCommit() async throws {
        try database.execute("CREATE TABLE t (n bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        let connection = await connect(database)
        let result = await outcome(on: connection) { $0.execute(sql: "INSERT INTO t VALUES (1), (1)") }
        guard case .failed(let error, statement: nil) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(error.sqlState == .uniqueViolation)
        #expect(try await connection.query(sql: "SELECT count(*) FROM t")[0][0] as Int64 == 0)
    }

    @Test("a batch and a result far larger than the socket's buffers pass in both directions")
    @Reactor func large() async throws {
        let connection = await connect(database)
        let text = String(repeating: "x", count: 8 << 20)
        let rows = try await connection.transaction { batch in
            for _ in 0..<3 { batch.execute(sql: "SELECT $1") { $0.add(text) } }
        }
        #expect(rows.allSatisfy { $0[0][0] as String == text })
    }

    @Test("settings hold in the session and prepared statements see them")
    @Reactor func settings() async throws {
        let connection = await connect(
            database, name: "writer", settings: [("plan_cache_mode", "force_generic_plan")])
        for (name, value) in [
            ("plan_cache_mode", "force_generic_plan"), ("application_name", "writer"),
            ("client_connection_check_interval", "1s"), ("jit", "off"),
        ] {
            let rows = try await connection.query(sql: "SELECT current_setting($1)") { $0.add(name) }
            #expect(rows[0][0] as String == value)
        }
    }

    @Test("notices disturb nothing")
    @Reactor func notices() async throws {
        let connection = await connect(database)
        let result = await outcome(on: connection) { batch in
            batch.execute(sql: "DO $$ BEGIN RAISE WARNING 'careful'; END $$")
            batch.execute(sql: "SELECT 1::bigint")
        }
        guard case .committed(let rows) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(rows[1][0][0] as Int64 == 1)
    }
}
