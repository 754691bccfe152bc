import Foundation
import Postgres
import PostgresSupport
import Reactor
import ServiceKit
import TestSupport
import Testing

@testable import Receipt
@testable import enum Receipt.Schema
@testable import Store

/// Tests which partitions every prepared statement of both services would touch in a partitioned database.
@Suite(.timeLimit(.minutes(2))) struct SlotConstraintTests {
    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        database = try TestDatabase(
            migratedBy: [Store.Schema.migrator, Schema.migrator], layout: .partitions(4))
        try database.execute(
            """
            CREATE FUNCTION public.plan(statement text, argument_count integer) RETURNS text LANGUAGE plpgsql AS $$
            DECLARE plan json;
            BEGIN
                EXECUTE format('EXPLAIN (FORMAT JSON) EXECUTE %I', statement) || coalesce(
                    '(' || nullif(array_to_string(array_fill('NULL'::text, ARRAY[argument_count]), ','), '') || ')', '')
                    INTO plan;
                RETURN plan;
            END $$
            """)
    }

    /// How a read of a partitioned table gets its slot: once for the whole statement, with each row of an array or
    /// another table, or not at all.
    enum Reach: Comparable {
        case oneSlot, slotOfEachRow, everySlot
    }

    @Test("a statement names the slot of every table it reads; which may be several, and what fans out, is documented")
    @Reactor func reaches() async throws {
        var environment = Environment(["PARLEY_DATABASE_URL": database.url])
        let store = try StoreConfiguration(environment: &environment)
        let receipt = try ReceiptConfiguration(environment: &environment)
        var readingOfShard = receipt.queries
        readingOfShard.statements = ReceiptConfiguration.readingOfShard
        var reaches: [String: Reach] = [:]
        for configuration in [
            store.writer, store.queries, store.search, store.indexer, receipt.writer, receipt.queries,
            receipt.background, readingOfShard,
        ] {
            for (name, reach) in try await self.reaches(of: configuration) { reaches[name] = reach }
        }
        #expect(reaches.count > 30)
        for (reach, title) in [(Reach.slotOfEachRow, "slots from rows"), (.everySlot, "every slot")] {
            let names = reaches.filter { $0.value == reach }.keys.sorted()
            #expect(
                names == (try Self.documented(title)),
                "\(names) — docs/operations.md lists them under <!-- \(title) -->")
        }
    }

    /// Returns the names that the operators' page lists under a title.
    private static func documented(_ title: String) throws -> [String] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let text = try String(contentsOf: root.appending(path: "docs/operations.md"), encoding: .utf8)
        let list = text.components(separatedBy: "<!-- \(title) -->").last!.components(separatedBy: "<!--")[0]
        return list.matches(of: #/`([a-z_]+)`/#).map { String($0.1) }.sorted()
    }

    @Reactor private func reaches(of configuration: ConnectionConfiguration) async throws -> [(String, Reach)] {
        let connection = Connection(configuration)
        connection.open()
        await waitUntil { connection.isUp }
        defer { connection.close() }
        var reaches: [(String, Reach)] = []
        for statement in configuration.statements {
            let rows = try await connection.query(sql: "SELECT public.plan($1, $2)") { parameters in
                parameters.add(statement.name)
                parameters.add(Int32(statement.parameters.count))
            }
            let plan = try JSONSerialization.jsonObject(with: Data((rows[0][0] as String).utf8))
            reaches.append((statement.name, Self.reach(plan)))
        }
        return reaches
    }

    /// Returns the widest reach of any scan in the plan. A missing scan was pruned by a slot given as a parameter.
    private static func reach(_ plan: Any) -> Reach {
        if let list = plan as? [Any] { return list.map(reach).max() ?? .oneSlot }
        guard let node = plan as? [String: Any] else { return .oneSlot }
        return max(ownReach(node), node.values.map(reach).max() ?? .oneSlot)
    }

    private static func ownReach(_ node: [String: Any]) -> Reach {
        guard let kind = node["Node Type"] as? String, kind.hasSuffix("Scan"),
            let table = node["Relation Name"] as? String, table.contains(#/_[0-9]+$/#)
        else { return .oneSlot }
        let conditions = ["Index Cond", "Recheck Cond", "TID Cond", "Filter"].compactMap { node[$0] as? String }
            .joined()
        if conditions.contains(#/slot = \$[0-9]/#) { return .oneSlot }
        return conditions.contains("slot = ") || conditions.contains(#/ = [a-z_.]*slot\)/#)
            ? .slotOfEachRow : .everySlot
    }
}
