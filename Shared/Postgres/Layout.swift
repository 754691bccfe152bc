/// The layout of the big tables of a schema: whole, partitioned by slot, or distributed by slot.
///
/// Migrations describe plain tables. A layout is applied after them, to tables that are still empty, so it is chosen
/// when a database is created. Tables that a later migration adds follow the layout of the others. The tables to
/// partition are found by a rule that all tables keep: the primary key of a big table ends in its slot.
public enum Layout: Equatable, Sendable {
    /// As the tables are: of a new database, whole.
    case plain
    /// This number of range partitions of each table, from 1 to 256.
    case partitions(Int)
    /// Distributed over the workers of Citus, see `Distribution`: in this number of shards, from 1 to 256. Nil: as many as
    /// there are, at first `Distribution.shards`.
    case citus(shards: Int?)

    /// Takes `--partitions N`, `--citus`, `--citus N` or nothing. Nil for anything else.
    public init?(arguments: ArraySlice<String>) {
        let count = arguments.dropFirst().first.flatMap { Int($0) }.flatMap { 1...256 ~= $0 ? $0 : nil }
        switch (arguments.first, arguments.count, count) {
        case (nil, _, _): self = .plain
        case ("--citus", 1, _): self = .citus(shards: nil)
        case ("--citus", 2, let count?): self = .citus(shards: count)
        case ("--partitions", 2, let count?): self = .partitions(count)
        default: return nil
        }
    }

    /// Gives the tables of `schema` this layout. `isDistributed`: whether the database is, and whoever asks for nothing
    /// else means that.
    func apply(
        to schema: String, in database: BlockingConnection, isDistributed: Bool
    ) throws(DatabaseError) {
        switch self {
        case .citus(let shards): try Distribution(schema: schema).apply(shards: shards, in: database)
        case .plain where isDistributed: try Distribution(schema: schema).apply(shards: nil, in: database)
        case .plain: try database.execute(Self.partitioning(of: schema, count: "NULL"))
        case .partitions(let count): try database.execute(Self.partitioning(of: schema, count: "\(count)"))
        }
    }

    /// Selects the number of locks this takes, the value of `max_locks_per_transaction`, and the number of sessions for
    /// which the server reserves that many. Creating the partitions locks each of them, its indexes, and its TOAST
    /// table with that table's index, until all are created. The rest of the transaction takes fewer than a hundred per
    /// table.
    func locks(schema: String) -> String {
        let count: String
        switch self {
        case .plain: count = Self.presentCount(of: schema)
        case .partitions(let wanted): count = "\(wanted)"
        case .citus: count = "0"
        }
        return """
            SELECT coalesce(sum(100 + (\(count)) * (1 + indexes + texts)), 0)::bigint,
                current_setting('max_locks_per_transaction')::bigint,
                current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint
                    + current_setting('autovacuum_max_workers')::bigint + 1
                    + current_setting('max_worker_processes')::bigint + current_setting('max_wal_senders')::bigint
            FROM (
                SELECT (SELECT count(*) FROM pg_index WHERE indrelid = plain.id) AS indexes,
                    (SELECT CASE WHEN reltoastrelid = 0 THEN 0 ELSE 2 END FROM pg_class WHERE oid = plain.id) AS texts
                FROM (\(Self.wholeTables(of: schema))) plain
            ) whole
            """
    }

    static func isPartitioned(_ schema: String, in database: BlockingConnection) throws(DatabaseError) -> Bool {
        try !database.query(presentCount(of: schema)).isEmpty
    }

    /// The number of partitions of the tables of `schema`; NULL if they are whole.
    private static func presentCount(of schema: String) -> String {
        """
        SELECT count(*) FROM pg_inherits WHERE inhparent = (
            SELECT min(oid::bigint)::oid FROM pg_class WHERE relnamespace = '\(schema)'::regnamespace AND relkind = 'p')
        HAVING count(*) > 0
        """
    }

    /// Tables that are whole and have their slot last in their primary key.
    private static func wholeTables(of schema: String) -> String {
        """
        SELECT c.oid AS id, c.relname AS name, a.attname AS slot, coalesce(c.reloptions, '{}') AS options
        FROM pg_class c
        JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts > 1
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[i.indnkeyatts - 1]
        WHERE c.relnamespace = '\(schema)'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
        AND a.attname IN ('slot', 'user_slot')
        """
    }

    /// Replaces each whole table with a partitioned one. It keeps the columns, constraints and indexes with their
    /// names; the storage parameters go to the partitions. Without a count it takes that of the tables that have
    /// partitions, and moves what a migration has filled a new table with. If none has, all stay whole.
    private static func partitioning(of schema: String, count: String) -> String {
        """
        DO $$
        DECLARE
            wanted integer := \(count);
            present integer := (\(presentCount(of: schema)));
            is_used boolean;
            plain record;
            definition text;
            definitions text[];
        BEGIN
            IF wanted <> present THEN RAISE 'the tables of \(schema) have % partitions', present; END IF;
            wanted := coalesce(wanted, present);
            IF wanted IS NULL THEN RETURN; END IF;
            FOR plain IN \(wholeTables(of: schema)) LOOP
                EXECUTE format('SELECT EXISTS (SELECT FROM \(schema).%I)', plain.name) INTO is_used;
                IF is_used AND present IS NULL THEN
                    RAISE 'the table \(schema).% is in use: only a new database can be partitioned', plain.name;
                END IF;
                definitions := ARRAY(
                    SELECT format('ALTER TABLE \(schema).%I ADD CONSTRAINT %I %s', plain.name, conname, pg_get_constraintdef(oid))
                    FROM pg_constraint WHERE conrelid = plain.id AND contype IN ('p', 'u') ORDER BY contype
                ) || ARRAY(
                    SELECT pg_get_indexdef(indexrelid) FROM pg_index i
                    WHERE indrelid = plain.id AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
                ) || ARRAY(
                    SELECT format('CREATE TABLE \(schema).%I PARTITION OF \(schema).%I FOR VALUES FROM (%s) TO (%s)%s',
                        plain.name || '_' || n, plain.name, n * 256 / wanted, (n + 1) * 256 / wanted,
                        ' WITH (' || nullif(array_to_string(plain.options, ', '), '') || ')')
                    FROM generate_series(0, wanted - 1) n
                ) || ARRAY(
                    SELECT format('ALTER TABLE \(schema).%I ALTER COLUMN %I SET STATISTICS %s', plain.name, attname, attstattarget)
                    FROM pg_attribute WHERE attrelid = plain.id AND attnum > 0 AND NOT attisdropped AND attstattarget >= 0
                );
                EXECUTE format(
                    'CREATE TABLE \(schema).%I (LIKE \(schema).%I INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (%I)',
                    plain.name || '_cut', plain.name, plain.slot);
                IF is_used THEN
                    EXECUTE format('LOCK TABLE \(schema).%I', plain.name);
                    EXECUTE format('CREATE TABLE \(schema).filled AS SELECT * FROM \(schema).%I', plain.name);
                END IF;
                EXECUTE format('DROP TABLE \(schema).%I', plain.name);
                EXECUTE format('ALTER TABLE \(schema).%I RENAME TO %I', plain.name || '_cut', plain.name);
                FOREACH definition IN ARRAY definitions LOOP EXECUTE definition; END LOOP;
                IF is_used THEN
                    EXECUTE format('INSERT INTO \(schema).%I SELECT * FROM \(schema).filled', plain.name);
                    DROP TABLE \(schema).filled;
                END IF;
            END LOOP;
        END $$
        """
    }
}
