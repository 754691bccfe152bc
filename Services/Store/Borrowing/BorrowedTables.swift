import Models
import Postgres
import Slots

/// The tables of users that batches of another slot decide by and write to, as they are on a database on Citus. See decision
/// 0086.
struct BorrowedTables: Sendable {
    struct Table: Sendable {
        /// Without the schema.
        let name: String
        let columns: [String]
        let key: [String]
    }

    let tables: [Table]

    /// Each table of users and its rows `r` that are lent, by the arguments of `Argument`. Nil: none, because batches only add to it.
    private static let rows: [(table: String, lent: String?)] = [
        ("user_streams", "SELECT r FROM store.user_streams r WHERE \(ofUsers)"),
        ("user_changes", nil),
        (
            "inbox",
            """
            SELECT r FROM store.inbox r WHERE \(ofUsers) AND r.conversation_id = ANY (\(conversations))
            UNION ALL
            SELECT r FROM store.inbox r
            WHERE \(ofWholeLists) AND (r.pin_order IS NOT NULL OR r.has_draft)
              AND r.conversation_id <> ALL (\(conversations))
            """
        ),
        ("outcomes", "SELECT r FROM store.outcomes r WHERE \(ofUsers) AND r.key = ANY (\(Argument.keys.sql)::uuid[])"),
        (
            // Of those that wait as many as are counted.
            "requests",
            """
            SELECT r FROM store.requests r
            WHERE \(ofUsers) AND (r.conversation_id = ANY (\(conversations)) OR r.direct_id = ANY (\(conversations)))
            UNION ALL
            SELECT w.r FROM unnest(\(users)) AS u(user_id), unnest('{true,false}'::boolean[]) AS kind(is_direct), LATERAL (
                SELECT r FROM store.requests r
                WHERE \(ofSlots) AND r.user_id = u.user_id AND r.is_waiting AND r.is_direct = kind.is_direct
                  AND r.conversation_id <> ALL (\(conversations)) AND r.direct_id <> ALL (\(conversations))
                LIMIT \(ContractLimits.waitingRequests)) w
            """
        ),
        (
            "blocks",
            """
            SELECT r FROM store.blocks r
            WHERE \(ofUsers) AND (r.blocked_id = ANY (\(Argument.people.sql)::text[])
                OR r.user_id = ANY (\(Argument.wholeLists.sql)::text[]))
            """
        ),
        (
            "shadow_listings",
            "SELECT r FROM store.shadow_listings r WHERE \(ofUsers) AND r.conversation_id = ANY (\(conversations))"
        ),
        ("introductions", "SELECT r FROM store.introductions r WHERE \(ofUsers)"),
        ("user_settings", "SELECT r FROM store.user_settings r WHERE \(ofUsers)"),
        ("erasures", "SELECT r FROM store.erasures r WHERE \(ofUsers)"),
        (
            "scheduled",
            """
            SELECT r FROM store.scheduled r
            WHERE \(ofUsers) AND (r.conversation_id = ANY (\(conversations))
                OR r.user_id = ANY (\(Argument.wholeLists.sql)::text[]))
            """
        ),
        ("suspensions", "SELECT r FROM store.suspensions r WHERE \(ofUsers)"),
    ]

    /// What rows of the users of one shard are found by, on its node: elements of one array of texts, each of which is an array.
    enum Argument: Int, CaseIterable {
        case slots = 1
        case users
        /// The conversations of the batch, and the direct conversations of those who bring others in.
        case conversations
        /// The keys of writes.
        case keys
        /// All users of the batch.
        case people
        /// Those of whom what a limit counts is lent as a whole: pins, drafts, blocks and scheduled messages.
        case wholeLists
        /// Those whose missing streams begin.
        case begins

        var sql: String { "$1[\(rawValue)]" }
    }

    private static let users = "\(Argument.users.sql)::text[]"
    private static let ofSlots = "r.user_slot = ANY (\(Argument.slots.sql)::smallint[])"
    private static let ofUsers = "\(ofSlots) AND r.user_id = ANY (\(users))"
    private static let ofWholeLists = "\(ofSlots) AND r.user_id = ANY (\(Argument.wholeLists.sql)::text[])"
    private static let conversations = "\(Argument.conversations.sql)::uuid[]"

    /// With their schema.
    static let names = rows.map { "store.\($0.table)" }

    init(of database: BlockingConnection) throws {
        let found = try database.query(Self.query)
        let tables = Dictionary(
            uniqueKeysWithValues: found.map { row in
                let name: String = row[0]
                return (name, Table(name: name, columns: row.array(1), key: row.array(2)))
            })
        self.init(tables: Self.rows.compactMap { tables[$0.table] })
    }

    init(tables: [Table]) { self.tables = tables }

    private static let query = """
        SELECT c.relname::text,
            (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
            (SELECT array_agg(a.attname::text) FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
             WHERE i.indrelid = c.oid AND i.indisprimary)
        FROM pg_class c
        WHERE c.oid IN (\(names.map { "'\($0)'::regclass" }.joined(separator: ", ")))
        """

    // MARK: At the node of the users' shard

    /// What comes before the rows are read: streams begin that have to, all that others may write is locked in the order of
    /// `lock_streams`, and the number of conversations is known, because it cannot be counted in what is lent.
    static let preparation = [
        """
        INSERT INTO store.user_streams (user_slot, user_id, last_useq, conversation_count)
        SELECT u.user_slot, u.user_id, 0, 0
        FROM unnest(\(Argument.slots.sql)::smallint[], \(users)) AS u(user_slot, user_id)
        WHERE u.user_id = ANY (\(Argument.begins.sql)::text[]) AND NOT EXISTS (
            SELECT FROM store.erasures e WHERE e.user_slot = u.user_slot AND e.user_id = u.user_id)
        ORDER BY u.user_id COLLATE "C", u.user_slot
        ON CONFLICT DO NOTHING
        """,
        "SELECT FROM store.erasures r WHERE \(ofUsers) ORDER BY r.user_id, r.user_slot FOR NO KEY UPDATE",
        "SELECT FROM store.user_streams r WHERE \(ofUsers) ORDER BY r.user_id, r.user_slot FOR NO KEY UPDATE",
        """
        UPDATE store.user_streams r SET conversation_count = (
            SELECT count(*) FROM store.inbox i
            WHERE i.user_slot = r.user_slot AND i.user_id = r.user_id AND \(Listing.isListed))
        WHERE \(ofUsers) AND r.conversation_count IS NULL
        """,
    ]

    /// Removes what is kept no longer of private streams: of users up to positions, in the third argument.
    static let trimming = """
        DELETE FROM store.user_changes r USING unnest(\(users), $1[3]::bigint[]) AS u(user_id, through)
        WHERE \(ofSlots) AND r.user_id = u.user_id AND r.useq <= u.through
        """

    /// The rows of the users, an array of texts: of each table what PostgreSQL writes for an array of its rows.
    static let reading =
        "SELECT ARRAY["
        + rows.map { row in row.lent.map { "(SELECT array_agg(l.r)::text FROM (\($0)) l)" } ?? "NULL" }
        .joined(separator: ", ") + "]"

    /// Of each table a statement that removes rows, and one that replaces them. The first parameter is an array with what is
    /// removed and what is new of each table, in this order.
    func giving(_ names: ShardNames) -> [String] {
        tables.enumerated().flatMap { index, table -> [String] in
            guard let shard = names.shard(of: "store.\(table.name)") else { return [] }
            let key = table.key.joined(separator: ", ")
            let rows = { (element: Int) in "unnest($1[\(2 * index + element)]::store.\(table.name)[])" }
            let isSame = table.key.map { "t.\($0) = r.\($0)" }.joined(separator: " AND ")
            let others = table.columns.filter { !table.key.contains($0) }
            let update =
                others.isEmpty
                ? "NOTHING"
                : "UPDATE SET " + others.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            return [
                "DELETE FROM \(shard) t USING \(rows(1)) r WHERE \(isSame)",
                """
                INSERT INTO \(shard) (\(table.columns.joined(separator: ", ")))
                SELECT \(table.columns.map { "r.\($0)" }.joined(separator: ", ")) FROM \(rows(2)) r
                ON CONFLICT (\(key)) DO \(update)
                """,
            ]
        }
    }
}
