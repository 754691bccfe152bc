import Foundation
import Postgres
import PostgresSupport
import Testing

@testable import Media

/// Tests the SQL files on a migrated database.
@Suite(.timeLimit(.minutes(1))) struct StatementFileTests {
    private let statements = MediaStatements.writing + MediaStatements.reading

    @Test("Every statement takes the parameters and returns the columns that its file and its Swift type declare")
    func descriptions() throws {
        let database = try TestDatabase(migratedBy: [Schema.migrator])
        #expect(try mismatches(of: statements, on: database.connect()) == [])
    }

    @Test("Every statement is one of a shard's tables alone where it is sent to a shard of Citus, and else unchanged")
    func ofShard() throws {
        let database = try TestDatabase(migratedBy: [Schema.migrator])
        let names = try database.becomeShard(["media"], views: [])
        #expect(try mismatches(of: statements.map { names.applied(to: $0) }, on: database.connect()) == [])
        for statement in statements {
            let before = TestDatabase.withoutTables(statement.sql, views: [], names: names)
            let after = TestDatabase.withoutTables(names.applied(to: statement.sql), views: [], names: names)
            #expect(before == after, "\(statement.name)")
        }
    }

    @Test("Every file is a statement that a connection prepares, once")
    func files() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Services/Media/SQL")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".sql") }.map { String($0.dropLast(4)) }
        #expect(statements.compactMap(\.file).sorted() == files.sorted())
    }
}
