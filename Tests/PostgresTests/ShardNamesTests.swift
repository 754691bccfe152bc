import Testing

@testable import Postgres

/// How a statement becomes one of a shard's tables.
@Suite struct ShardNamesTests {
    private static let names = ShardNames(
        tables: [
            "store.messages": "store.messages_102094", "store.slots": "store.slots_102008",
            "store.shadows": "store.shadows_102009",
        ],
        views: [
            PublishedView("store", "messages", ["slot", "seq"]),
            PublishedView(
                "store", "appearances", ["slot"],
                of: "SELECT slot FROM store.messages UNION ALL SELECT slot FROM store.shadows"),
        ])

    @Test(
        "a table becomes its shard, under the alias that it has or that of its own name",
        arguments: [
            (
                "SELECT m.seq FROM store.messages m WHERE m.slot = $1",
                "SELECT m.seq FROM store.messages_102094 m WHERE m.slot = $1"
            ),
            ("SELECT FROM store.messages AS m", "SELECT FROM store.messages_102094 AS m"),
            ("UPDATE store.slots SET epoch = 1", "UPDATE store.slots_102008 AS slots SET epoch = 1"),
            ("DELETE FROM store.slots\nWHERE slot = $1", "DELETE FROM store.slots_102008 AS slots\nWHERE slot = $1"),
            ("(SELECT FROM store.slots)", "(SELECT FROM store.slots_102008 AS slots)"),
            ("INSERT INTO store.slots (slot) VALUES (1)", "INSERT INTO store.slots_102008 AS slots (slot) VALUES (1)"),
            ("SELECT FROM store.slots", "SELECT FROM store.slots_102008 AS slots"),
        ])
    func tables(statement: String, wanted: String) {
        #expect(Self.names.applied(to: statement) == wanted)
    }

    @Test("a published view becomes its query of the shard's tables, in brackets")
    func views() {
        #expect(
            Self.names.applied(to: "SELECT FROM store.published_messages p")
                == "SELECT FROM (SELECT slot, seq FROM store.messages_102094 AS messages) p")
        #expect(
            Self.names.applied(to: "SELECT FROM store.published_appearances WHERE slot = $1")
                == """
                SELECT FROM (SELECT slot FROM store.messages_102094 AS messages UNION ALL \
                SELECT slot FROM store.shadows_102009 AS shadows) AS published_appearances WHERE slot = $1
                """)
    }

    @Test(
        "nothing else changes",
        arguments: [
            "SELECT 'store.messages m', \"store.slots\" FROM store.services",
            "SELECT messages.slot, slots.store.x, 1.5e3",
            "SELECT $1::text, $tag$store.messages$tag$, E'\\'store.messages'",
            "SELECT restore.messages, store.messages_2 m",
            "SELECT 'ä', store.merge_search_index()",
        ])
    func others(statement: String) {
        #expect(Self.names.applied(to: statement) == statement)
    }

    // MARK: Rows of users

    private static let withUsers = ShardNames(
        tables: [
            "store.messages": "store.messages_102094", "store.inbox": "store.inbox_102010",
            "store.blocks": "store.blocks_102011", "store.deployment": "store.deployment_102001",
        ], users: ["store.inbox", "store.blocks"], everywhere: ["store.deployment"],
        views: [PublishedView("store", "inbox", ["user_id", "slot"])])

    private func applied(_ sql: String, _ users: UserRows = .parameters) -> Statement {
        Self.withUsers.applied(to: Statement("s", parameters: [.text], sql), users)
    }

    @Test("a statement of both sides finds the rows of users in parameters behind its own, one for each table")
    func parameters() {
        let applied = applied(
            "SELECT FROM store.messages m JOIN store.inbox i ON true, store.blocks WHERE i.slot = (SELECT 1 FROM store.inbox)"
        )
        #expect(
            applied.sql == """
                SELECT FROM store.messages_102094 m JOIN unnest($3::store.inbox[]) i ON true, \
                unnest($2::store.blocks[]) AS blocks WHERE i.slot = (SELECT 1 FROM unnest($3::store.inbox[]) AS inbox)
                """)
        #expect(applied.parameters == [.text, .text, .text])
    }

    @Test("a published view of users is of the same rows")
    func parametersOfViews() {
        #expect(
            applied("SELECT FROM store.messages m, store.published_inbox i").sql == """
                SELECT FROM store.messages_102094 m, (SELECT user_id, slot FROM unnest($2::store.inbox[]) AS inbox) i
                """)
    }

    @Test(
        "a statement of one side borrows nothing",
        arguments: [
            "SELECT FROM store.inbox i", "SELECT FROM store.messages m, store.deployment d",
            "SELECT FROM store.published_inbox i, store.blocks b, store.deployment d", "SELECT FROM store.deployment d",
        ])
    func oneSide(sql: String) {
        let statement = Statement("s", parameters: [.text], sql)
        #expect(Self.withUsers.borrowedTables(of: statement) == [])
        #expect(applied(sql).sql == Self.withUsers.applied(to: sql))
        #expect(applied(sql).parameters == [.text])
    }

    @Test("what a statement borrows is listed in the order of its parameters")
    func borrowedTables() {
        let statement = Statement("s", "SELECT FROM store.messages m, store.published_inbox i, store.blocks b")
        #expect(Self.withUsers.borrowedTables(of: statement) == ["store.blocks", "store.inbox"])
        #expect(applied(statement.sql, .ofShard).sql == Self.withUsers.applied(to: statement.sql))
    }

    @Test("a statement of a shard stays as it is")
    func renamedAgain() {
        let once = Self.names.applied(to: "SELECT FROM store.messages m, store.slots")
        #expect(Self.names.applied(to: once) == once)
    }
}
