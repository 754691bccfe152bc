import Foundation
import Postgres
import PostgresSupport
import ServiceKit
import TestSupport
import Testing

@testable import Receipt
@testable import Store

/// Tests the SQL files on a migrated database.
@Suite(.timeLimit(.minutes(1))) struct StatementFileTests {
    @Test(
        "every statement takes the parameters and returns the columns that its file and its Swift type declare",
        arguments: [Layout.plain, .partitions(4)])
    func descriptions(layout: Layout) throws {
        let database = try TestDatabase()
        _ = try Store.Schema.migrator.apply(toDatabaseAt: database.url, layout: layout)
        _ = try Receipt.Schema.migrator.apply(toDatabaseAt: database.url, layout: layout)
        let statements = try Self.statements(of: database.url)
        #expect(statements.count > 60)
        #expect(try mismatches(of: statements, on: database.connect()) == [])
    }

    @Test("every file is a statement that a connection prepares under its name, or a fragment that has a name")
    func files() throws {
        let prepared = try Self.statements(of: "host=nowhere").filter(\.isFromFile).map(\.name)
        #expect(try Self.names(in: "Services/Store/SQL") == Set(prepared))
        #expect(try Self.names(in: "Services/Store/SQL/Fragments") == SQLNames.store.fragments)
    }

    @Test("all writes return the same columns in the same order, so they are decoded alike")
    func columnsOfWrites() throws {
        let columns = WriteStatement.all.map(\.columnFields)
        let first = try #require(columns.first)
        #expect(first.count == 8)
        #expect(columns.allSatisfy { $0 == first })
    }

    private static func statements(of url: String) throws -> [Statement] {
        var environment = Environment(["PARLEY_DATABASE_URL": url])
        let store = try StoreConfiguration(environment: &environment)
        return [store.writer, store.queries, store.search, store.indexer].flatMap(\.statements)
    }

    private static func names(in folder: String) throws -> Set<String> {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let files = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
        return Set(files.filter { $0.hasSuffix(".sql") }.map { String($0.dropLast(4)) })
    }
}
