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
        ("user_streams", "SELECT r FROM \(ofUsers("user_streams"))"),
        ("user_changes", nil),
        (
            // What is counted is looked for after it is known whose, by OFFSET 0 and in no other order: in the lists of all others
            // there may be 20,000 rows of each.
            "inbox",
            """
            SELECT r FROM \(ofUsers("inbox")) WHERE r.conversation_id = ANY (\(conversations))
            UNION ALL
            SELECT r FROM \(directs) JOIN \(users) ON u.user_id = d.user_id
            JOIN store.inbox r ON r.user_slot = u.user_slot AND r.user_id = d.user_id AND r.conversation_id = d.id
            WHERE r.conversation_id <> ALL (\(conversations))
            UNION ALL
            SELECT l.r FROM \(users), LATERAL (
                SELECT r FROM store.inbox r
                WHERE \(isWhole) AND r.user_slot = u.user_slot AND r.user_id = u.user_id AND (r.pin_order IS NOT NULL OR r.has_draft)
                  AND r.conversation_id <> ALL (\(conversations))
                  AND NOT EXISTS (SELECT FROM \(directs) WHERE d.user_id = r.user_id AND d.id = r.conversation_id)
                OFFSET 0) l
            """
        ),
        ("outcomes", "SELECT r FROM \(ofUsers("outcomes")) WHERE r.key = ANY (\(Argument.keys.once("uuid")))"),
        (
            // Of those that wait as many as are counted.
            "requests",
            """
            SELECT r FROM \(ofUsers("requests")) WHERE \(isNamedRequest)
            UNION ALL
            SELECT w.r FROM \(users), unnest('{true,false}'::boolean[]) AS kind(is_direct), LATERAL (
                SELECT r FROM store.requests r
                WHERE r.user_slot = u.user_slot AND r.user_id = u.user_id AND r.is_waiting AND r.is_direct = kind.is_direct
                  AND NOT (\(isNamedRequest))
                LIMIT \(ContractLimits.waitingRequests)) w
            """
        ),
        (
            "blocks",
            """
            SELECT r FROM \(ofUsers("blocks"))
            WHERE r.blocked_id IN (SELECT unnest(\(Argument.people.once("text")))) OR \(isWhole)
            """
        ),
        (
            "shadow_listings",
            "SELECT r FROM \(ofUsers("shadow_listings")) WHERE r.conversation_id = ANY (\(conversations))"
        ),
        ("introductions", "SELECT r FROM \(ofUsers("introductions"))"),
        ("user_settings", "SELECT r FROM \(ofUsers("user_settings"))"),
        ("erasures", "SELECT r FROM \(ofUsers("erasures"))"),
        (
            "scheduled",
            "SELECT r FROM \(ofUsers("scheduled")) WHERE r.conversation_id = ANY (\(conversations)) OR \(isWhole)"
        ),
        ("suspensions", "SELECT r FROM \(ofUsers("suspensions"))"),
    ]

    /// What rows of the users of one shard are found by, on its node: elements of one array of texts, each of which is an array.
    enum Argument: Int, CaseIterable {
        case slots = 1
        case users
        /// The conversations of the batch.
        case conversations
        /// The keys of writes.
        case keys
        /// All users of the batch.
        case people
        /// Those of whom what a limit counts is lent as a whole: pins, drafts, blocks and scheduled messages.
        case wholeLists
        /// Those whose missing streams begin.
        case begins
        /// Of users their direct conversations with those who bring them in.
        case directUsers
        case directs

        /// The argument as an array, which is read once for a statement: as it stands it would be, each time, for each row.
        func once(_ type: String) -> String { "(SELECT $1[\(rawValue)]::\(type)[])::\(type)[]" }
    }

    /// The users `u`, and a table's rows `r` of these: for each one a look into the index, where two lists of slots and of names would
    /// be as many as their product.
    private static let users =
        "unnest(\(Argument.slots.once("smallint")), \(Argument.users.once("text"))) AS u(user_slot, user_id)"
    private static func ofUsers(_ table: String) -> String {
        "\(users) JOIN store.\(table) r ON r.user_slot = u.user_slot AND r.user_id = u.user_id"
    }
    private static let directs =
        "unnest(\(Argument.directUsers.once("text")), \(Argument.directs.once("uuid"))) AS d(user_id, id)"
    private static let conversations = Argument.conversations.once("uuid")
    private static let isWhole = "u.user_id = ANY (\(Argument.wholeLists.once("text")))"
    private static let isNamedRequest = """
        r.conversation_id = ANY (\(conversations)) OR r.direct_id = ANY (\(conversations)) OR EXISTS (
            SELECT FROM \(directs) WHERE d.user_id = r.user_id AND d.id IN (r.conversation_id, r.direct_id))
        """

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
        FROM \(users)
        WHERE u.user_id IN (SELECT unnest(\(Argument.begins.once("text")))) AND NOT EXISTS (
            SELECT FROM store.erasures e WHERE e.user_slot = u.user_slot AND e.user_id = u.user_id)
        ORDER BY u.user_id COLLATE "C", u.user_slot
        ON CONFLICT DO NOTHING
        """,
        "SELECT FROM \(ofUsers("erasures")) ORDER BY r.user_id, r.user_slot FOR NO KEY UPDATE OF r",
        "SELECT FROM \(ofUsers("user_streams")) ORDER BY r.user_id, r.user_slot FOR NO KEY UPDATE OF r",
        """
        UPDATE store.user_streams r SET conversation_count = (
            SELECT count(*) FROM store.inbox i
            WHERE i.user_slot = r.user_slot AND i.user_id = r.user_id AND \(Listing.isListed))
        FROM \(users) WHERE r.user_slot = u.user_slot AND r.user_id = u.user_id AND r.conversation_count IS NULL
        """,
    ]

    /// Removes what is kept no longer of private streams: of users up to positions, in the third argument.
    static let trimming = """
        DELETE FROM store.user_changes r USING unnest($1[2]::text[], $1[3]::bigint[]) AS u(user_id, through)
        WHERE r.user_slot = ANY ((SELECT $1[1]::smallint[])::smallint[]) AND r.user_id = u.user_id AND r.useq <= u.through
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
