import Models
import Postgres
import PostgresSupport
import Slots
import Testing

@testable import Receipt
@testable import Store

/// Tests what is borrowed of users in other shards, as far as that can be seen without Citus. `Tests/Citus/test_writes.py` borrows.
@Suite(.timeLimit(.minutes(1))) struct BorrowingTests {
    let database: TestDatabase
    /// The tables of users.
    let tables: Set<String>

    init() throws {
        database = try TestDatabase(migratedBy: ServiceStatements.migrators)
        tables = Set(
            try database.connect().query(
                """
                SELECT c.oid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey) AND a.attname = 'user_slot'
                WHERE i.indisprimary AND c.relnamespace = 'store'::regnamespace
                """
            ).map { $0[0] as String })
    }

    /// Tables of which what is told to all edges is numbered slot by slot, and of which no other slot decides.
    private static let ofOneSlot: Set = [
        "store.devices", "store.device_revocations", "store.revocations", "store.profiles",
    ]

    @Test("all tables of users are borrowed but those that only commands of the user's own slot name")
    func whatIsBorrowed() throws {
        #expect(Set(BorrowedTables.names) == tables.subtracting(Self.ofOneSlot))
        let naming = Writer.statements.filter { statement in
            let words = Set(statement.sql.split { !($0.isLetter || $0 == "." || $0 == "_") }.map(String.init))
            return !words.isDisjoint(with: Self.ofOneSlot)
        }
        #expect(
            Set(naming.map(\.name)) == [
                "put_profile", "end_devices", "note_device", "revoke_tokens", "suspend_user", "begin_erasure",
                "erase_remains",
            ])
    }

    @Test("every table has the columns and the key by which its rows are given back")
    func keys() throws {
        let borrowed = try BorrowedTables(of: database.connect())
        #expect(borrowed.tables.map { "store.\($0.name)" } == BorrowedTables.names)
        for table in borrowed.tables {
            #expect(table.key.contains("user_slot") && table.key.contains("user_id"), "\(table.name)")
            #expect(Set(table.key).isSubset(of: table.columns), "\(table.name)")
        }
    }

    @Test("every statement of a batch finds the rows of users in temporary tables, and no others")
    func statements() throws {
        let borrowed = try BorrowedTables(of: database.connect())
        let views = Publications.store + Publications.receipt
        let connection = try database.connect()
        for table in borrowed.tables {
            try connection.execute("CREATE TEMPORARY TABLE \(table.name) (LIKE store.\(table.name) INCLUDING ALL)")
        }
        let names = try database.becomeShard(["store", "receipt"], views: views)
        // Otherwise the rows of the shard would be found where a name is left out.
        for table in BorrowedTables.names { try database.execute("DROP TABLE \(names.shard(of: table)!) CASCADE") }
        let statements = Writer.statements.map { Borrowing.names(names).applied(to: $0) }
        #expect(try mismatches(of: statements, on: connection) == [])
    }

    @Test("what is lent is read from one shard")
    func lending() throws {
        let names = try database.becomeShard(["store", "receipt"], views: Publications.store + Publications.receipt)
        let connection = try database.connect()
        let bob = [
            "{7}", "{bob}", "{}", "{}", "{bob}", "{bob}", "{bob}", "{bob}", "{00000000-0000-4000-8000-000000000007}",
        ]
        for statement in BorrowedTables.preparation + [BorrowedTables.reading] {
            try connection.execute("PREPARE lent (text[]) AS \(names.applied(to: statement))")
            try connection.execute("EXECUTE lent (ARRAY['\(bob.joined(separator: "','"))'])")
            try connection.execute("DEALLOCATE lent")
        }
        let stream = "SELECT last_useq, conversation_count FROM \(names.shard(of: "store.user_streams")!)"
        let rows = try connection.query(stream)
        #expect(rows.map { [$0[0] as Int64, Int64($0[1] as Int32)] } == [[0, 0]])
    }

    @Test("of who has many conversations the others are not looked at")
    func manyConversations() throws {
        let names = try database.becomeShard(["store", "receipt"], views: Publications.store + Publications.receipt)
        let connection = try database.connect()
        try connection.execute(
            """
            INSERT INTO \(names.shard(of: "store.inbox")!) (user_slot, user_id, conversation_id, slot)
            SELECT 7, 'user ' || n % 500, gen_random_uuid(), 1 FROM generate_series(1, 10000) n
            """)
        try connection.execute("ANALYZE \(names.shard(of: "store.inbox")!)")
        try connection.execute("PREPARE lent (text[]) AS \(names.applied(to: BorrowedTables.reading))")
        let arguments = #"'{7}', '{"user 1"}', '{}', '{}', '{"user 1"}', NULL, NULL, NULL, NULL"#
        let plan = try connection.query("EXPLAIN (ANALYZE, COSTS off, TIMING off) EXECUTE lent (ARRAY[\(arguments)])")
        let passedOver = plan.map { $0[0] as String }.filter { $0.contains("Rows Removed") }
        #expect(passedOver == [])
    }
}
