import Foundation
import Postgres
import PostgresSupport
import Testing

/// Tests the rights that `deploy/database` grants on a migrated database.
@Suite(.timeLimit(.minutes(1))) struct RightsTests {
    @Test(
        "each service may do all that its statements do, with the rights that are granted to it",
        arguments: [Layout.plain, .partitions(4)])
    func granted(layout: Layout) throws {
        let database = try Self.database(layout)
        #expect(try refusals(of: ServiceStatements.ofStore, to: "store", on: database.connect()) == [])
        #expect(try refusals(of: ServiceStatements.ofReceipt, to: "receipt", on: database.connect()) == [])
    }

    @Test("the audit log is added to and the status of an act noted, and nothing of it is changed or removed")
    func auditLog() throws {
        let database = try Self.database(.plain)  // It is removed with its last use.
        defer { withExtendedLifetime(database) {} }
        let store = try database.connect()
        let act = """
            INSERT INTO store.acts (slot, number, id, at, administrator_id, call)
            VALUES (0, 1, gen_random_uuid(), now(), 'backend', 'eraseUser')
            """
        try store.execute("SET ROLE store; \(act); UPDATE store.acts SET status = 202")
        for change in [
            "UPDATE store.acts SET administrator_id = 'x'", "DELETE FROM store.acts", "TRUNCATE store.acts",
        ] {
            #expect(throws: (any Error).self) { try store.execute(change) }
        }
    }

    @Test("a right that is missing is found, with the statement that lacks it")
    func missing() throws {
        let database = try Self.database(.plain)
        try database.execute(
            """
            REVOKE SELECT ON receipt.published_completions FROM store;
            REVOKE UPDATE ON receipt.positions FROM receipt
            """)
        #expect(
            try refusals(of: ServiceStatements.ofStore, to: "store", on: database.connect())
                == ["kept_dates", "lone_receipts_of_many"].map {
                    "\($0): permission denied for view published_completions"
                })
        #expect(
            try refusals(of: ServiceStatements.ofReceipt, to: "receipt", on: database.connect())
                == ["lock_positions", "advance_horizons", "import_receipts", "lock_erased_position"].map {
                    "\($0): permission denied for table positions"
                })
    }

    /// A database with the tables of both services, and the rights that their owners grant.
    private static func database(_ layout: Layout) throws -> TestDatabase {
        try roles.get()
        let database = try TestDatabase(migratedBy: ServiceStatements.migrators, layout: layout)
        try run("store_owner.sql", at: database.url)
        try run("receipt_owner.sql", at: database.url)
        return database
    }

    /// The roles belong to the cluster, so they are made once.
    private static let roles = Result { try run("roles.sql", at: TestCluster.shared.url()) }

    /// Runs a file as a deployment does: with psql, whose commands it uses.
    private static func run(_ file: String, at url: String) throws {
        let psql = Process()
        psql.executableURL = URL(filePath: "/usr/bin/env")
        let path = repository.appending(path: "deploy/database/\(file)").path
        psql.arguments = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", path, url]
        try psql.run()
        psql.waitUntilExit()
        try #require(psql.terminationStatus == 0, "psql runs \(file)")
    }
}
