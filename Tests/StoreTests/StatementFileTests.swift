import Foundation
import Postgres
import PostgresSupport
import Testing
import Wire

@testable import Receipt
@testable import Slots
@testable import Store

/// Tests the SQL files on a migrated database.
@Suite(.timeLimit(.minutes(1))) struct StatementFileTests {
    @Test(
        "every statement takes the parameters and returns the columns that its file and its Swift type declare",
        arguments: [Layout.plain, .partitions(4)])
    func descriptions(layout: Layout) throws {
        let database = try TestDatabase(migratedBy: ServiceStatements.migrators, layout: layout)
        let statements = try ServiceStatements.ofAll
        #expect(statements.count > 140)
        #expect(try mismatches(of: statements, on: database.connect()) == [])
    }

    @Test("every file is a statement of a service, or a fragment that has a name")
    func files() throws {
        let folders = ["Services/Store/SQL", "Services/Receipt/SQL", "Shared/Slots/SQL"]
        let statements = try folders.flatMap(Self.names)
        let all = try ServiceStatements.ofAll
        #expect(all.filter { $0.file == nil }.map(\.name) == [])
        #expect(Set(statements) == Set(all.compactMap(\.file)))
        #expect(Set(statements).count == statements.count)
        let fragments = try folders.flatMap { try Self.names(in: "\($0)/Fragments") }
        let known = [SQLNames.store, .receipt, OwnershipStatements.names("store")].map(\.fragments)
        #expect(Set(fragments) == known.reduce([]) { $0.union($1) })
        #expect(Set(fragments).count == fragments.count)
    }

    @Test("all writes return the same columns in the same order, so they are decoded alike")
    func columnsOfWrites() throws {
        let columns = Write.Action.kinds.flatMap { $0.statements }.map(\.columnFields)
        let first = try #require(columns.first)
        #expect(first.count == 8)
        #expect(columns.allSatisfy { $0 == first })
    }

    private static func names(in folder: String) throws -> [String] {
        let path = repository.appending(path: folder).path
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".sql") }
            .map { String($0.dropLast(4)) }
    }
}

/// The repository that the tests are made from.
let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
