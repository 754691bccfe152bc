import Bytes
import Models
import Postgres
import PostgresSupport
import Slots
import Testing
import Wire

@testable import Store

/// Where statements that read find their rows on a database whose slots are in several shards, and what becomes of the rows of
/// several parts.
@Suite(.timeLimit(.minutes(1))) struct ReadRouteTests {
    private static let views = Publications.store + Publications.receipt
    private static let statements = ShardReads.runnable.values.sorted { $0.name < $1.name }

    /// Kept until the test ends.
    private let database: TestDatabase

    init() throws { database = try TestDatabase(migratedBy: ServiceStatements.migrators) }

    @Test("every statement that reads has a route")
    func routes() {
        #expect(Self.statements.count > 70)
        #expect(Self.statements.filter { ReadRoute($0) == nil }.map(\.name) == [])
    }

    @Test("a statement of both sides borrows of just the tables of users that it reads, and one of one side of none")
    func loans() throws {
        let names = try database.becomeShard(["store", "receipt"], views: Self.views)
        for statement in Self.statements {
            let loans = try #require(ReadRoute(statement)).loans.map(\.table.name)
            #expect(loans == names.borrowedTables(of: statement), "\(statement.name)")
        }
    }

    @Test("a statement of one side names the slot of that side")
    func sides() throws {
        let names = try database.becomeShard(["store", "receipt"], views: Self.views)
        for statement in Self.statements where names.borrowedTables(of: statement).isEmpty {
            guard case .slot(let slot) = ReadRoute(statement)?.place else { continue }
            // Numbered lists are of a slot, whatever is in it.
            let isNumbered = ["erased_users", "revocations", "user_positions"].contains(statement.name)
            let wanted = names.isOfUsers(statement) && !isNumbered ? "user_slot" : "slot"
            #expect(statement.parameterFields[slot].name == wanted, "\(statement.name)")
        }
    }

    @Test("every statement is one of its node, with what it borrows in parameters")
    func statementsOfShards() throws {
        let names = try database.becomeShard(["store", "receipt"], views: Self.views)
        // What is published of a table is lent as rows of the table.
        let tables = UserRowsStatements.Table.allCases.map(\.name).filter { !$0.contains("published_") }
        try database.createShells(of: tables)
        let connection = try database.connect()
        for statement in Self.statements + UserRowsStatements.all where statement.name != NodePosition.statement.name {
            let applied = names.applied(to: statement, .parameters)
            #expect(throws: Never.self, "\(statement.name)") { _ = try connection.describe(applied) }
            for table in tables { #expect(!applied.sql.contains("FROM \(table) "), "\(statement.name)") }
        }
    }

    // MARK: Rows of users

    @Test("rows are lent as PostgreSQL writes an array of them, and read from it as they were")
    func lent() throws {
        let connection = try database.connect()
        let user = UserID("bob")!
        let drafts = ["a \"draft\"", "{curly}, (round) \\ back", "", "line\nfeed", "NULL"]
        for (number, draft) in drafts.enumerated() {
            _ = try connection.query(
                """
                INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot, draft_text, draft_at, draft_useq)
                VALUES ($1, 'bob', $2, $3, $4, now(), 1)
                """
            ) { parameters in
                parameters.add(user.slot)
                parameters.add(conversation(number))
                parameters.add(Slot(UInt8(number)))
                parameters.add(draft)
            }
        }
        let groups = UserRowsStatements.groups(
            try run(UserRowsStatements.execution(.inbox, Loan([user], .all)), on: connection))
        #expect(Set(groups.map(\.slot)) == Set(drafts.indices.map { Slot(UInt8($0)) }))
        let text = UserRowsAnswer.joined(groups.map(\.text))
        let read = try connection.query(
            "SELECT i.draft_text FROM unnest($1::text::store.inbox[]) i ORDER BY i.slot"
        ) { $0.add(String(decoding: text, as: UTF8.self)) }
        #expect(read.map { $0[0] as String } == drafts)
        let one = try run(
            UserRowsStatements.execution(.inbox, Loan([user], .conversations([conversation(3), conversation(9)]))),
            on: connection)
        #expect(UserRowsStatements.groups(one).map(\.slot) == [Slot(3)])
    }

    @Test("of a user with many rows some go to every shard, and none with a draft")
    func few() throws {
        let connection = try database.connect()
        let user = UserID("bob")!
        try connection.execute(
            """
            INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot, draft_text, draft_at, draft_useq)
            SELECT \(user.slot.number), 'bob', ('00000000-0000-4000-8000-0000000000' || lpad(to_hex(n), 2, '0'))::uuid, n,
                'secret', now(), 1
            FROM generate_series(0, 9) n
            """)
        let some = UserRowsStatements.groups(
            try run(UserRowsStatements.execution(.inbox, Loan([user], .few(10))), on: connection))
        #expect(some.map(\.slot) == [nil] && some.map(\.rowCount) == [10])
        #expect(!some.contains { String(decoding: $0.text, as: UTF8.self).contains("secret") })
        let all = UserRowsStatements.groups(
            try run(UserRowsStatements.execution(.inbox, Loan([user], .few(11))), on: connection))
        #expect(all.count == 10 && !all.contains { $0.slot == nil })
    }

    private func run(_ execution: Execution, on connection: BlockingConnection) throws -> Rows {
        try connection.query(execution.statement.sql) { parameters in
            for (type, value) in zip(execution.statement.parameters, execution.values) {
                parameters.add(bytes: value!, of: type)
            }
        }
    }

    private func conversation(_ number: Int) -> ConversationID {
        ConversationID(UUIDBytes(high: 0x4000, low: 0x8000_0000_0000_0000 | UInt64(number)))
    }

    // MARK: Merging

    private func rows(_ sql: String) throws -> Rows { try database.connect().query(sql) }

    @Test("rows in order are as many as were asked for, each once, and one without anything if there is nothing")
    func ordered() throws {
        let merge = ReadRoute.Merge.ordered([.init(column: 0, descends: true), .init(column: 1)], limit: 0)
        let of = execution(Statement("s", parameters: [.int8], ""), limits: 3)
        let parts = [
            try rows("SELECT 5::bigint, 1::bigint UNION ALL SELECT 3, 1 UNION ALL SELECT 1, 1"),
            try rows("SELECT 5::bigint, 0::bigint UNION ALL SELECT 3, 1"), try rows("SELECT NULL::bigint, 9::bigint"),
        ]
        #expect(merge.merged(parts, of: of).map { $0[0] as Int64 } == [5, 5, 3])
        #expect(merge.merged(parts, of: of).map { $0[1] as Int64 } == [0, 1, 1])
        #expect(merge.merged([parts[2], parts[2]], of: of).map { $0[1] as Int64 } == [9])
        #expect(ReadRoute.Merge.present(0).merged(parts, of: of).count == 5)
        #expect(ReadRoute.Merge.present(0).merged([parts[2], parts[2]], of: of).count == 1)
        #expect(ReadRoute.Merge.atMost(2).merged(parts, of: of).count == 2)
    }

    private func execution(_ statement: Statement, limits limit: Int64) -> Execution {
        Execution(statement, values: [withUnsafeBytes(of: limit.bigEndian) { Array($0) }])
    }

    @Test("a profile is read if any shard shows that the reader may, and what the reader has is left out")
    func profiles() throws {
        let statement = ProfileStatements.profiles.untyped
        var execution = Execution(statement, values: statement.parameters.map { _ in nil })
        func set(_ name: String, _ build: (inout Parameters) -> Void) {
            var parameters = Parameters(capacity: 64)
            build(&parameters)
            parameters.finish()
            execution.values[statement.parameter(name)!] = parameters.values[0]
        }
        set("users") { parameters in
            parameters.addArray(of: .text)
            for name in ["ann", "ben", "cay", "dan"] { parameters.append(name) }
        }
        set("versions") { parameters in
            parameters.addArray(of: .int8)
            for version in [0, 3, 3, 0] as [Int64] { parameters.append(version) }
        }
        func part(_ versions: [Int]) throws -> Rows {
            try rows(
                zip(["ann", "ben", "cay", "dan"], versions)
                    .map { "SELECT '\($0)'::text, \($1)::bigint, NULL::text, NULL::text, NULL::text" }
                    .joined(separator: " UNION ALL "))
        }
        let merged = ReadRoute.Merge.profiles.merged([try part([0, 0, 0, 0]), try part([0, 3, 0, 2])], of: execution)
        #expect(merged.map { $0[0] as String } == ["cay", "dan"])
        #expect(merged.map { $0[1] as Int64 } == [0, 2])
    }

    @Test("arrays are cut by the slots in the first of them")
    func cut() throws {
        let statement = try #require(ShardReads.runnable["lone_receipts"])
        guard case .slots(let slots, let arrays) = ReadRoute(statement)?.place else {
            Issue.record("the statement has arrays of slots")
            return
        }
        #expect(arrays.count == 3)
        #expect(ReadRoute(statement)?.merge == .numbered(statement.column("place")))
        var execution = Execution(statement, values: statement.parameters.map { _ in nil })
        for array in arrays {
            let type = statement.parameters[array]
            let elements: [ArraySlice<UInt8>] = (0..<3).map { number in
                array == slots ? [0, UInt8(number)] : ArraySlice([UInt8](repeating: UInt8(number), count: 16))
            }
            execution.values[array] = PostgresArray.bytes(of: type, elements)
        }
        let cut = execution.cut(arrays, to: [0, 2])
        #expect(cut.slots(slots) == [Slot(0), Slot(2)])
        #expect(cut.elements(arrays.last!).map(\.first) == [0, 2])
    }

    // MARK: Rounds of sync

    @Test("a round has a number of each node, begins with those of the round before, and keeps those of its first page")
    func rounds() {
        var cursor = SyncCursor(
            logID: .zero, useq: 4, transaction: 0, nextTransaction: 0, after: ConversationID(.zero))
        func position(_ group: Int32, _ transaction: Int64) -> NodePosition {
            NodePosition(group: group, transaction: transaction)
        }
        cursor.nodes = SyncRound.nodes(cursor, [position(1, 100), position(2, 55), position(1, 90)])
        #expect(cursor.nodes == .init(useq: 4, [1: .init(since: 0, next: 90), 2: .init(since: 0, next: 55)]))
        // The second page.
        cursor.after = conversation(7)
        cursor.useq = 6
        cursor.nodes = SyncRound.nodes(cursor, [position(1, 200), position(3, 10)])
        #expect(cursor.nodes == .init(useq: 4, [1: .init(since: 0, next: 90), 2: .init(since: 0, next: 55)]))
        // The next round.
        cursor.nodes = SyncRound.next(cursor)
        cursor.after = ConversationID(.zero)
        cursor.nodes = SyncRound.nodes(cursor, [position(1, 300), position(3, 10)])
        #expect(cursor.nodes == .init(useq: 6, [1: .init(since: 90, next: 300), 3: .init(since: 0, next: 10)]))
        #expect(SyncRound(cursor.nodes!, groups: [:]).after == 6)
        // A number too old to be compared, and everything anew.
        cursor.nodes = SyncRound.nodes(cursor, [position(1, 1 << 31)])
        #expect(cursor.nodes?.transactions[1]?.since == 0)
        #expect(SyncRound(cursor.nodes!, groups: [:]).after == nil)
        cursor.nodes = SyncRound.nodes(cursor, [position(1, 7)], isAnew: true)
        #expect(cursor.nodes == .init(useq: 6, [1: .init(since: 0, next: 7)]))
    }
}
