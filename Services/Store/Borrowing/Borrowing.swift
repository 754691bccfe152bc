import Models
import Postgres
import Slots

/// How a batch of a shard on Citus reaches the rows of users whose slots are elsewhere: they are locked and lent through Citus,
/// copied into temporary tables of the session, where the statements of the batch find them by the names that they
/// have, and what has changed is given back before the commit. It is one transaction, in two phases where several nodes write.
/// See decision 0086.
///
/// At the other node all is done by the shard's names, in a function that Citus is asked to run where the slot is. Citus does not
/// see that it writes, and is shown by an update of no row.
struct Borrowing: Sendable {
    /// Makes the temporary tables and functions of a session, which end with it. All sessions have the same.
    let preparation: String

    init(_ placement: Placement, ofDatabaseAt url: String) throws {
        let database = try BlockingConnection(url: url, applicationName: "parley-check")
        preparation = SessionOfBorrower(tables: try BorrowedTables(of: database), shards: placement.shards).preparation
    }

    /// The names of a session that borrows for batches of this shard.
    static func names(_ shard: ShardNames) -> ShardNames { shard.borrowing(BorrowedTables.names) }

    // MARK: Statements of a batch

    static let statements = [lockUsers, borrowRows, giveBackRows, clearTables]

    private static let lockUsers = Statement(
        "lock_users_elsewhere",
        parameters: [.int2, .array(.int2), .array(.text), .array(.uuid), .array(.int2), .array(.bool)],
        "SELECT pg_temp.lock_users($1, $2, $3, $4, $5, $6)")

    /// Besides the users that are named: all of imports that end, and who made an invitation. One shard after the other.
    private static let borrowRows = Statement(
        "borrow_rows",
        parameters: [
            .array(.int2), .array(.text), .array(.bool), .array(.bool), .array(.uuid), .array(.uuid), .array(.int2),
            .array(.uuid), .array(.int2), .array(.uuid), .array(.uuid), .array(.int2), .array(.text), .array(.uuid),
        ],
        """
        WITH users AS MATERIALIZED (
            SELECT u.user_slot, u.user_id, bool_or(u.whole_lists) AS whole_lists, bool_or(u.begins) AS begins FROM (
                SELECT * FROM unnest($1, $2, $3, $4) AS u(user_slot, user_id, whole_lists, begins)
                UNION ALL
                SELECT i.user_slot, i.user_id, false, false FROM unnest($7, $8) AS k(slot, conversation_id)
                JOIN store.import_stays i ON i.slot = k.slot AND i.conversation_id = k.conversation_id
                UNION ALL
                SELECT i.creator_slot, i.creator_id, false, false FROM unnest($9, $10, $11) AS k(slot, conversation_id, code_hash)
                JOIN store.invitations i
                    ON i.slot = k.slot AND i.conversation_id = k.conversation_id AND i.code_hash = k.code_hash
            ) u GROUP BY 1, 2
        ),
        directs AS MATERIALIZED (
            SELECT l.slots[1] AS lender, array_agg(d.user_id)::text AS users, array_agg(d.id)::text AS ids
            FROM unnest($12, $13, $14) AS d(user_slot, user_id, id) JOIN pg_temp.lenders l ON d.user_slot = ANY (l.slots)
            GROUP BY l.slots
        )
        SELECT pg_temp.borrow(b.lender, ARRAY[
            b.slots::text, b.users::text, $5::text, $6::text, (SELECT array_agg(p.user_id)::text FROM users p),
            b.whole_lists::text, b.begins::text,
            (SELECT d.users FROM directs d WHERE d.lender = b.lender), (SELECT d.ids FROM directs d WHERE d.lender = b.lender)])
        FROM (
            SELECT l.slots[1] AS lender, array_agg(u.user_slot) AS slots, array_agg(u.user_id) AS users,
                array_agg(u.user_id) FILTER (WHERE u.whole_lists) AS whole_lists,
                array_agg(u.user_id) FILTER (WHERE u.begins) AS begins
            FROM users u JOIN pg_temp.lenders l ON u.user_slot = ANY (l.slots)
            GROUP BY l.slots ORDER BY l.slots OFFSET 0
        ) b
        """)

    private static let giveBackRows = Statement("give_back", "SELECT pg_temp.give_back()")

    private static let clearTables = Statement("clear_borrowed", "SELECT pg_temp.clear()")

    /// In the place of what locks keys and users.
    static func lockUsers(of locks: Locks, from home: Slot, in batch: inout Batch) {
        batch.execute(lockUsers) { parameters in
            parameters.add(home)
            let keys = locks.keys.compactMap { key in key.user.map { (user: $0, key: key.key) } }
            parameters.addArray(of: .int2)
            for key in keys { parameters.append(key.user.slot) }
            parameters.addArray(of: .text)
            for key in keys { parameters.append(key.user.name) }
            parameters.addArray(of: .uuid)
            for key in keys { parameters.append(key.key) }
            let slots = locks.userSlots
            parameters.addArray(of: .int2)
            for slot in slots.keys { parameters.append(slot) }
            parameters.addArray(of: .bool)
            for alone in slots.values { parameters.append(alone) }
        }
    }

    /// In the place of what locks erasures and private streams.
    static func borrow(_ locks: Locks, in batch: inout Batch) {
        batch.execute(borrowRows) { parameters in
            let users = locks.people
            parameters.addArray(of: .int2)
            for user in users { parameters.append(user.slot) }
            parameters.addArray(of: .text)
            for user in users { parameters.append(user.name) }
            parameters.addArray(of: .bool)
            for user in users { parameters.append(locks.wholeLists.contains(user)) }
            parameters.addArray(of: .bool)
            for user in users { parameters.append(locks.newStreams.contains(user)) }
            parameters.addArray(of: .uuid)
            for conversation in locks.conversations { parameters.append(conversation) }
            parameters.addArray(of: .uuid)
            for key in locks.keys where key.user != nil { parameters.append(key.key) }
            parameters.addArray(of: .int2)
            for conversation in locks.endingImports { parameters.append(conversation.slot) }
            parameters.addArray(of: .uuid)
            for conversation in locks.endingImports { parameters.append(conversation) }
            parameters.addArray(of: .int2)
            for invitation in locks.invitations { parameters.append(invitation.conversation.slot) }
            parameters.addArray(of: .uuid)
            for invitation in locks.invitations { parameters.append(invitation.conversation) }
            parameters.addArray(of: .uuid)
            for invitation in locks.invitations { parameters.append(invitation.codeHash) }
            parameters.addArray(of: .int2)
            for direct in locks.directs { parameters.append(direct.user.slot) }
            parameters.addArray(of: .text)
            for direct in locks.directs { parameters.append(direct.user.name) }
            parameters.addArray(of: .uuid)
            for direct in locks.directs { parameters.append(direct.conversation) }
        }
    }

    /// After the last step of a batch.
    static func giveBack(in batch: inout Batch) { batch.execute(giveBackRows) }

    /// Takes what was removed out of the files of the temporary tables, in a batch of its own. It has all statements of the session
    /// planned anew.
    static func clear(in batch: inout Batch) { batch.execute(clearTables) }
}

/// What a session that borrows has of its own.
private struct SessionOfBorrower {
    let tables: BorrowedTables
    let shards: [Placement.Shard]

    /// In one block, because the names of tables in it are Citus's, not those of the session's shard.
    var preparation: String {
        let steps =
            ["PERFORM set_config('citus.enable_ddl_propagation', 'off', false)"]
            + tables.tables.map {
                "CREATE TEMPORARY TABLE \($0.name) (LIKE store.\($0.name) INCLUDING ALL)"
            }
            + [
                "CREATE TEMPORARY TABLE loans (lender smallint, users text[], rows text[])",
                """
                CREATE TEMPORARY TABLE lenders (
                    slots smallint[], shard bigint, preparation text[], reading text, giving text[], trimming text[])
                """,
            ]
            + shards.map(insertLender)
            + [Self.lock, borrow, giveBack, clear]
        return "DO $preparation$ BEGIN \(steps.joined(separator: ";\n")); END $preparation$"
    }

    /// The statements of a shard for the other sessions that borrow of it.
    private func insertLender(_ shard: Placement.Shard) -> String {
        let slots = shard.slots.map { "\($0.number)" }.joined(separator: ",")
        let preparation = BorrowedTables.preparation.map(shard.names.applied).map(Self.quoted)
        let giving = tables.giving(shard.names).map(Self.quoted)
        return """
            INSERT INTO pg_temp.lenders VALUES ('{\(slots)}', \(shard.number), ARRAY[\(preparation.joined(separator: ", "))],
            \(Self.quoted(shard.names.applied(to: BorrowedTables.reading))), ARRAY[\(giving.joined(separator: ", "))],
            ARRAY[\(Self.quoted(shard.names.applied(to: BorrowedTables.trimming)))])
            """
    }

    private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }

    /// What tells Citus that the transaction writes at the node of a slot.
    private static func touch(_ slot: String) -> String {
        "UPDATE store.user_streams SET last_useq = last_useq WHERE user_slot = \(slot) AND user_id = ''"
    }

    /// Locks keys and users as `lock_keys` and `lock_users` do, at the nodes of their slots: advisory locks are of one node. One shard
    /// after the other, each in the order that batches of that shard have. Before any row, the shards themselves.
    private static let lock = """
        CREATE FUNCTION pg_temp.lock_users(
            home smallint, key_slots smallint[], key_users text[], keys uuid[], user_slots smallint[], alone boolean[])
        RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            node record;
        BEGIN
            PERFORM placement.hold((
                SELECT array_agg(l.shard ORDER BY l.shard) FROM pg_temp.lenders l WHERE l.slots && (key_slots || user_slots)));
            \(touch("home"));
            FOR node IN
                SELECT l.slots[1] AS slot, ARRAY[
                    (SELECT array_agg(k.hash ORDER BY k.hash)::text FROM (
                        SELECT hashtextextended(u.user_id || ' ' || u.key, 0) AS hash
                        FROM unnest(key_slots, key_users, keys) AS u(slot, user_id, key) WHERE u.slot = ANY (l.slots)) k),
                    (SELECT array_agg(u.slot ORDER BY u.slot)::text
                     FROM unnest(user_slots) AS u(slot) WHERE u.slot = ANY (l.slots)),
                    (SELECT array_agg(u.alone ORDER BY u.slot)::text
                     FROM unnest(user_slots, alone) AS u(slot, alone) WHERE u.slot = ANY (l.slots))] AS arguments
                FROM pg_temp.lenders l WHERE l.slots && (key_slots || user_slots) ORDER BY l.slots
            LOOP
                PERFORM placement.run(ARRAY[
                    'SELECT pg_advisory_xact_lock(k) FROM unnest($1[1]::bigint[]) k',
                    'SELECT CASE WHEN u.alone THEN pg_advisory_xact_lock(\(Schema.erasureLocks), u.slot)
                         ELSE pg_advisory_xact_lock_shared(\(Schema.erasureLocks), u.slot) END
                     FROM unnest($1[2]::integer[], $1[3]::boolean[]) AS u(slot, alone)'], NULL, node.arguments)
                FROM store.slots WHERE slot = node.slot;
            END LOOP;
        END $$
        """

    /// Borrows the rows of the users of one shard, which a slot of it names.
    private var borrow: String {
        let copies = tables.tables.enumerated().map { index, table in
            """
            IF rows[\(index + 1)] IS NOT NULL THEN
                INSERT INTO pg_temp.\(table.name) SELECT r.* FROM unnest(rows[\(index + 1)]::store.\(table.name)[]) r;
            END IF;
            """
        }
        return """
            CREATE FUNCTION pg_temp.borrow(lender smallint, arguments text[]) RETURNS void LANGUAGE plpgsql AS $$
            DECLARE
                place record;
                rows text[];
            BEGIN
                SELECT l.preparation, l.reading INTO STRICT place FROM pg_temp.lenders l WHERE lender = ANY (l.slots);
                \(Self.touch("lender"));
                SELECT placement.run(place.preparation, place.reading, arguments) INTO STRICT rows
                FROM store.slots WHERE slot = lender;
                \(copies.joined(separator: "\n"))
                INSERT INTO pg_temp.loans VALUES (lender, arguments[\(BorrowedTables.Argument.users.rawValue)]::text[], rows);
            END $$
            """
    }

    /// Gives back what has changed, and trims private streams that have grown: `StreamTrimmer` does that where the user's slot is this
    /// shard's. The tables are empty afterwards, by DELETE: behind `ON COMMIT DELETE ROWS` every statement would be planned anew.
    private var giveBack: String {
        let differences = tables.tables.enumerated().map { index, table in
            let lent = "unnest(loan.rows[\(index + 1)]::store.\(table.name)[])"
            let isSame = table.key.map { "t.\($0) = o.\($0)" }.joined(separator: " AND ")
            return """
                IF loan.rows[\(index + 1)] IS NOT NULL THEN
                    changes[\(2 * index + 1)] := (
                        SELECT array_agg(o)::text FROM \(lent) o
                        WHERE NOT EXISTS (SELECT FROM pg_temp.\(table.name) t WHERE \(isSame)));
                END IF;
                changes[\(2 * index + 2)] := (
                    SELECT array_agg(n)::text FROM (
                        SELECT t.* FROM pg_temp.\(table.name) t WHERE t.user_id = ANY (loan.users)
                        EXCEPT SELECT o.* FROM \(lent) o
                    ) n);
                """
        }
        return """
            CREATE FUNCTION pg_temp.give_back() RETURNS void LANGUAGE plpgsql AS $$
            DECLARE
                loan record;
                changes text[];
                place record;
                steps text[];
                trimmed text[];
            BEGIN
                FOR loan IN SELECT * FROM pg_temp.loans LOOP
                    changes := array_fill(NULL::text, ARRAY[\(2 * tables.tables.count)]);
                    \(differences.joined(separator: "\n"))
                    SELECT l.slots, l.giving, l.trimming INTO STRICT place
                    FROM pg_temp.lenders l WHERE loan.lender = ANY (l.slots);
                    steps := (
                        SELECT array_agg(place.giving[n] ORDER BY n) FROM generate_subscripts(changes, 1) n
                        WHERE changes[n] IS NOT NULL);
                    CONTINUE WHEN steps IS NULL;
                    PERFORM placement.run(steps, NULL, changes) FROM store.slots WHERE slot = loan.lender;
                    trimmed := (
                        SELECT ARRAY[place.slots::text, array_agg(h.user_id)::text, array_agg(h.through)::text] FROM (
                            SELECT t.user_id, max(t.useq) - \(PrivateTail.kept) AS through FROM pg_temp.user_changes t
                            WHERE t.user_id = ANY (loan.users) AND t.useq > \(PrivateTail.kept) AND t.useq % \(PrivateTail.step) = 0
                            GROUP BY 1
                        ) h);
                    CONTINUE WHEN trimmed[2] IS NULL;
                    PERFORM placement.run(place.trimming, NULL, trimmed) FROM store.slots WHERE slot = loan.lender;
                END LOOP;
                \(filled.map { "DELETE FROM \($0);" }.joined(separator: "\n"))
            END $$
            """
    }

    private var clear: String {
        """
        CREATE FUNCTION pg_temp.clear() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            TRUNCATE \(filled.joined(separator: ", "));
        END $$
        """
    }

    /// The tables that a batch fills.
    private var filled: [String] { (["loans"] + tables.tables.map(\.name)).map { "pg_temp.\($0)" } }
}
