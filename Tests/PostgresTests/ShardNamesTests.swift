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

    @Test("a statement of a shard stays as it is")
    func renamedAgain() {
        let once = Self.names.applied(to: "SELECT FROM store.messages m, store.slots")
        #expect(Self.names.applied(to: once) == once)
    }
}
