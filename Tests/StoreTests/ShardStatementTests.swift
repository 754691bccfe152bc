import Postgres
import PostgresSupport
import Slots
import Testing

@testable import Receipt
@testable import Store

/// Tests what becomes of the statements of both services for a shard on Citus, on a database whose tables have a shard's
/// names. `Tests/Citus` prepares them on a worker.
@Suite(.timeLimit(.minutes(1))) struct ShardStatementTests {
    private static let views = Publications.store + Publications.receipt

    @Test("every statement is one of the shard's tables alone: nothing else is there")
    func descriptions() throws {
        let database = try TestDatabase(migratedBy: ServiceStatements.migrators)
        let names = try database.becomeShard(["store", "receipt"], views: Self.views)
        let statements = try ServiceStatements.ofAll
        #expect(statements.count > 140)
        #expect(try mismatches(of: statements.map { names.applied(to: $0) }, on: database.connect()) == [])
    }

    @Test("nothing but names of tables changes in any statement")
    func differences() throws {
        let database = try TestDatabase(migratedBy: ServiceStatements.migrators)
        let names = try database.becomeShard(["store", "receipt"], views: Self.views)
        for statement in try ServiceStatements.ofAll {
            let before = TestDatabase.withoutTables(statement.sql, views: Self.views, names: names)
            let after = TestDatabase.withoutTables(names.applied(to: statement.sql), views: Self.views, names: names)
            #expect(before == after, "\(statement.name)")
        }
    }
}
