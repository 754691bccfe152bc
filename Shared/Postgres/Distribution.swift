/// Distributes the tables of a schema over the workers of Citus.
///
/// Every table with a slot in its primary key is distributed by that slot, together with `placement.slots`: all rows of a
/// slot, of all services, are on one node and move together. `placement.slots` is in a schema of its own, because a
/// service may not look into the schemas of others. Its shards are cut so that each has as many slots as the others; the
/// ranges of hash values that Citus would choose have from 9 to 21. Other tables are copied to every node, except those
/// that only the migrator reads and writes, and `services`, of which each node has one of its own. All that is distributed has
/// one owner, because a shard moves beside traffic by one subscription for each (decision 0089).
///
/// Each step may be interrupted and is done by the next run.
struct Distribution {
    /// An identifier from the code.
    let schema: String

    /// The number of shards unless another is asked for: as many workers can be of use, and each takes 16 slots.
    static let shards = 16

    static func isPossible(in database: BlockingConnection) throws(DatabaseError) -> Bool {
        try !database.query("SELECT FROM pg_extension WHERE extname = 'citus'").isEmpty
    }

    func apply(shards: Int?, in database: BlockingConnection) throws(DatabaseError) {
        try database.execute(Self.createPlacement)
        try database.execute(Self.cutPlacement(into: shards))
        try database.execute(Self.createHold)
        try database.execute(Self.createHoldOfSeveral)
        try database.execute(Self.createRun)
        try database.execute(requireOneOwner)
        // A transaction for each, which locks its shards alone.
        for call in try calls(in: database) { try database.execute("SELECT \(call)") }
        try database.execute(removeLocalRows)
        try database.execute(createServices)
        try database.execute(bringOptionsToShards)
    }

    // MARK: Placement

    /// All services come here, one at a time.
    private static let lock = "PERFORM pg_advisory_xact_lock(hashtextextended('parley placement', 0));"

    /// With one shard: Citus cuts no table in the transaction that distributes it.
    private static let createPlacement = """
        DO $$
        BEGIN
            \(lock)
            IF to_regclass('placement.slots') IS NOT NULL THEN RETURN; END IF;
            IF NOT EXISTS (
                SELECT FROM pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary') THEN
                RAISE 'the cluster has no worker: citus_add_node adds one';
            END IF;
            CREATE SCHEMA placement;
            GRANT USAGE ON SCHEMA placement TO PUBLIC;
            CREATE TABLE placement.slots (slot smallint PRIMARY KEY CHECK (slot BETWEEN 0 AND 255));
            GRANT SELECT ON placement.slots TO PUBLIC;
            PERFORM create_distributed_table('placement.slots', 'slot', colocate_with => 'none', shard_count => 1);
        END $$
        """

    /// The slots in the order of their hash values are cut into equal parts, which the workers get in turn.
    private static func cutPlacement(into shards: Int?) -> String {
        """
        DO $$
        DECLARE
            wanted integer := \(shards.map { "\($0)" } ?? "NULL");
            present bigint[];
            nodes integer[];
        BEGIN
            \(lock)
            SELECT array_agg(shardid) INTO present FROM pg_dist_shard WHERE logicalrelid = 'placement.slots'::regclass;
            IF cardinality(present) > 1 OR EXISTS (SELECT FROM placement.slots) THEN
                IF wanted <> cardinality(present) THEN
                    RAISE 'the slots are in % shards', cardinality(present);
                END IF;
                RETURN;
            END IF;
            wanted := coalesce(wanted, \(Self.shards));
            SELECT array_agg(nodeid ORDER BY nodeid) INTO nodes FROM pg_dist_node
            WHERE isactive AND shouldhaveshards AND noderole = 'primary';
            IF wanted > 1 THEN
                PERFORM citus_split_shard_by_split_points(
                    present[1],
                    (SELECT array_agg(hash::text ORDER BY hash) FROM (
                        SELECT hash, row_number() OVER (ORDER BY hash) AS place
                        FROM (SELECT worker_hash(slot::smallint) AS hash FROM generate_series(0, 255) slot) h) h
                     WHERE place < 256 AND place * wanted / 256 > (place - 1) * wanted / 256),
                    (SELECT array_agg(nodes[1 + n % cardinality(nodes)] ORDER BY n) FROM generate_series(0, wanted - 1) n),
                    'block_writes');
            END IF;
            INSERT INTO placement.slots SELECT generate_series(0, 255);
        END $$
        """
    }

    /// Makes a function of every node. Who may not has another role than who made the schema, and comes later.
    private static func create(function signature: String, as definition: String) -> String {
        """
        DO $$
        BEGIN
            \(lock)
            IF to_regprocedure('placement.\(signature)') IS NULL AND has_schema_privilege('placement', 'CREATE') THEN
                CREATE FUNCTION placement.\(definition);
            END IF;
        END $$
        """
    }

    /// What every transaction calls that writes to a shard by its name: Citus does not see that it does. It keeps the shard
    /// from being moved until the transaction ends, and fails where that has happened. What is written to a shard that has
    /// moved away is lost. `is_proved`: whether the caller has found the epoch, under which it owns the slots, in their row.
    ///
    /// The lock is only for the owner of the table.
    private static let createHold = create(
        function: "hold(bigint, boolean)",
        as: """
            hold(shard bigint, is_proved boolean) RETURNS void
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $hold$
            BEGIN
                PERFORM lock_shard_metadata(5, ARRAY[shard]);  -- 5: shared
                IF NOT EXISTS (
                    SELECT FROM pg_dist_placement
                    WHERE shardid = shard AND groupid = (SELECT groupid FROM pg_dist_local_group)) THEN
                    RAISE 'the shard is on another node' USING ERRCODE = 'PY001';
                END IF;
                IF is_proved IS NOT TRUE THEN
                    RAISE 'the slots have another owner' USING ERRCODE = 'PY002';
                END IF;
            END $hold$
            """)

    /// The same of several shards, whichever nodes have them, for who will write to them through Citus. Citus locks a shard, and has a move
    /// of it wait, with the first statement that needs it. A transaction that has locked rows by then would wait for the move,
    /// which waits for another one that waits for these rows.
    private static let createHoldOfSeveral = create(
        function: "hold(bigint[])",
        as: """
            hold(shards bigint[]) RETURNS void
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $hold$
            BEGIN
                PERFORM lock_shard_metadata(5, shards);
            END $hold$
            """)

    /// `placement.run`, by which a transaction runs statements at the node of a slot: `SELECT placement.run(…) FROM store.slots WHERE
    /// slot = …`, which Citus sends there. It returns what the question does, if there is one. The caller needs the rights.
    /// Its session keeps them prepared, by the hash of their text: planned anew, they took longer than all else that a batch does there.
    /// The arguments are a setting, because what stands in the text of an EXECUTE is logged when it fails.
    private static let createRun = create(
        function: "run(text[], text, text[])",
        as: """
            run(statements text[], question text, arguments text[]) RETURNS text[]
            LANGUAGE plpgsql AS $run$
            DECLARE
                prepared text[] := (SELECT array_agg(p.name) FROM pg_prepared_statements p);
                statement text;
                name text;
                command text;
                response text[];
            BEGIN
                PERFORM set_config('placement.arguments', coalesce(arguments, '{}')::text, true);
                FOREACH statement IN ARRAY statements || question LOOP
                    CONTINUE WHEN statement IS NULL;
                    name := 'run_' || md5(statement);
                    IF name = ANY (prepared) IS NOT TRUE THEN
                        EXECUTE format('PREPARE %I (text[]) AS %s', name, statement);
                        prepared := prepared || name;
                    END IF;
                    command := format('EXECUTE %I (current_setting(''placement.arguments'')::text[])', name);
                    IF statement = question THEN EXECUTE command INTO response; ELSE EXECUTE command; END IF;
                END LOOP;
                RETURN response;
            END $run$
            """)

    // MARK: Tables

    /// Of a table `c`: whether it is yet to be distributed.
    private var isNew: String {
        """
        c.relnamespace = '\(schema)'::regnamespace AND c.relkind = 'r'
        AND c.relname NOT IN ('migrations', 'migrations_beside', 'services')
        AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = c.oid)
        """
    }

    private var requireOneOwner: String {
        """
        DO $$
        DECLARE
            owner regrole := (SELECT relowner FROM pg_class WHERE oid = 'placement.slots'::regclass);
        BEGIN
            IF EXISTS (SELECT FROM pg_class c WHERE c.relowner <> owner AND \(isNew)) THEN
                RAISE 'the tables of a cluster have one owner, which is %: give it those of \(schema), and migrate as that role', owner;
            END IF;
        END $$
        """
    }

    /// The calls that distribute what is not yet distributed. What others refer to comes first: it was created first, but in a
    /// database that was restored.
    private func calls(in database: BlockingConnection) throws(DatabaseError) -> [String] {
        try database.query(
            """
            WITH RECURSIVE referring (id, level) AS (
                SELECT oid, 0 FROM pg_class WHERE relnamespace = '\(schema)'::regnamespace AND relkind = 'r'
                UNION
                SELECT conrelid, level + 1 FROM pg_constraint JOIN referring ON id = confrelid
                WHERE contype = 'f' AND conrelid <> confrelid AND level < 10
            )
            SELECT CASE
                WHEN a.attname IS NULL THEN format('create_reference_table(%L)', c.oid::regclass)
                ELSE format('create_distributed_table(%L, %L, colocate_with => %L)', c.oid::regclass, a.attname, 'placement.slots')
            END
            FROM pg_class c
            LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
            LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey) AND a.attname IN ('slot', 'user_slot')
            WHERE \(isNew)
            ORDER BY (SELECT max(level) FROM referring WHERE id = c.oid), c.oid
            """
        ).map { $0[0] }
    }

    /// Rows that were in a table before it was distributed stay on the coordinator, where nobody sees them.
    private var removeLocalRows: String {
        """
        SELECT truncate_local_data_after_distributing_table(c.oid)
        FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid
        WHERE c.relnamespace = '\(schema)'::regnamespace AND pg_relation_size(c.oid) > 0
        """
    }

    /// A table of each worker by itself: its rows name sessions of that node (`SlotOwner`).
    private var createServices: String {
        """
        DO $$
        DECLARE
            failure text;
        BEGIN
            SELECT min(result) INTO failure FROM run_command_on_workers(
                'CREATE TABLE IF NOT EXISTS \(schema).services (id bigint PRIMARY KEY, seen_at timestamptz NOT NULL)')
            WHERE NOT success;
            IF failure IS NOT NULL THEN RAISE 'a worker: %', failure; END IF;
        END $$
        """
    }

    // MARK: Migrations

    /// Runs a statement of a migration, in a transaction or outside of one.
    static func execute(statement: String, in database: BlockingConnection) throws(DatabaseError) {
        guard isLocal(statement) else { return try database.execute(statement) }
        // If the statement fails it is repeated, or the session ends.
        try database.execute("SET citus.enable_ddl_propagation = off")
        try database.execute(statement)
        try database.execute("SET citus.enable_ddl_propagation = on")
    }

    /// Whether a statement changes what Citus refuses to change in shards: it runs on the coordinator alone, and
    /// `bringOptionsToShards` follows.
    private static func isLocal(_ statement: String) -> Bool {
        let words = statement.uppercased()
        return words.hasPrefix("ALTER TABLE") && (words.contains(" SET STATISTICS ") || words.contains(" SET STORAGE "))
    }

    /// Shards are to have no statistics either of columns that hold texts.
    private var bringOptionsToShards: String {
        """
        DO $$
        DECLARE
            wanted record;
            failure text;
        BEGIN
            FOR wanted IN
                SELECT c.oid::regclass AS name, \(Self.options) AS list
                FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid JOIN pg_attribute ON attrelid = c.oid
                JOIN pg_type t ON t.oid = atttypid
                WHERE c.relnamespace = '\(schema)'::regnamespace AND attnum > 0 AND NOT attisdropped AND \(Self.hasOption)
                GROUP BY c.oid
            LOOP
                CONTINUE WHEN NOT EXISTS (
                    SELECT FROM run_command_on_placements(wanted.name, $shard$
                        SELECT \(Self.options.replacing("%", with: "%%")) FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
                        WHERE attrelid = '%s'::regclass AND attnum > 0 AND NOT attisdropped AND \(Self.hasOption)
                    $shard$) WHERE NOT success OR result IS DISTINCT FROM wanted.list);
                SELECT min(result) INTO failure
                FROM run_command_on_placements(wanted.name, 'ALTER TABLE %s ' || wanted.list) WHERE NOT success;
                IF failure IS NOT NULL THEN RAISE 'a shard of %: %', wanted.name, failure; END IF;
            END LOOP;
        END $$
        """
    }

    private static let hasOption = "(attstattarget >= 0 OR attstorage <> typstorage)"

    /// The options of a table's columns, as ALTER TABLE takes them.
    private static let options = """
        string_agg(concat_ws(', ',
            CASE WHEN attstattarget >= 0 THEN format('ALTER COLUMN %I SET STATISTICS %s', attname, attstattarget) END,
            CASE WHEN attstorage <> typstorage THEN format('ALTER COLUMN %I SET STORAGE %s', attname,
                CASE attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END) END
            ), ', ' ORDER BY attname)
        """
}

extension BlockingConnection {
    /// Whether tables of this database are distributed over the workers of Citus.
    public func isDistributed() throws(DatabaseError) -> Bool {
        try query("SELECT to_regclass('placement.slots') IS NOT NULL")[0][0]
    }
}
