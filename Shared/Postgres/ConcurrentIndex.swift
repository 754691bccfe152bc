/// An index that is built beside running services:
/// `CREATE [UNIQUE] INDEX CONCURRENTLY IF NOT EXISTS name ON schema.table …`.
///
/// If the statement fails, PostgreSQL leaves an invalid index behind, which `IF NOT EXISTS` would then accept. It is
/// dropped and built again. A partitioned table does not support the statement. There the index is created on the
/// parent alone, at no cost, then concurrently on one partition after another, and each is attached. The last one makes
/// the parent's index valid. The remains of an interruption are found by their names.
struct ConcurrentIndex {
    private let isUnique: Bool
    /// The name without the schema, which is the table's.
    private let name: Substring
    private let schema: Substring
    private let table: Substring
    /// The text after the table: method, columns, condition.
    private let definition: Substring

    /// Nil if `statement` builds no index concurrently.
    init?(statement: String) throws(MigrationError) {
        var words = statement[...]
        guard words.skip("CREATE") else { return nil }
        isUnique = words.skip("UNIQUE")
        guard words.skip("INDEX"), words.skip("CONCURRENTLY") else { return nil }
        guard words.skip("IF"), words.skip("NOT"), words.skip("EXISTS"), let name = words.takeWord(), words.skip("ON"),
            let target = words.takeWord(before: "("), target.lowercased() != "only"
        else { throw .unknownForm(statement: statement) }
        let parts = target.split(separator: ".")
        guard parts.count == 2, !name.contains(".") else { throw .unknownForm(statement: statement) }
        (self.name, schema, table, definition) = (name, parts[0], parts[1], words)
    }

    /// The statement for a table that cannot have waiters.
    var statementForEmptyTable: String { "\(create) IF NOT EXISTS \(name) ON \(schema).\(table) \(definition)" }

    /// Builds the index, or its missing parts.
    func build(in database: BlockingConnection) throws(DatabaseError) {
        guard try kind(in: database) == "p" else { return try build(name, on: table, in: database) }
        try database.execute("\(create) IF NOT EXISTS \(name) ON ONLY \(schema).\(table) \(definition)")
        for partition in try partitionsWithout(in: database) {
            let part = "\(name)_\(partition.dropFirst(table.count + 1))"
            try build(part[...], on: partition[...], in: database)
            try database.execute("ALTER INDEX \(schema).\(name) ATTACH PARTITION \(schema).\(part)")
        }
    }

    private var create: String { isUnique ? "CREATE UNIQUE INDEX" : "CREATE INDEX" }

    private func build(_ name: Substring, on table: Substring, in database: BlockingConnection) throws(DatabaseError) {
        let invalid = try database.query("SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid") {
            $0.add("\(schema).\(name)")
        }
        // These wait for the users of the table, but block nobody.
        try database.execute("SET lock_timeout = 0")
        // On Citus the workers lack the table's index until all shards have theirs, and those may lack it, too.
        if !invalid.isEmpty { try database.execute("DROP INDEX CONCURRENTLY IF EXISTS \(schema).\(name)") }
        try database.execute("\(create) CONCURRENTLY IF NOT EXISTS \(name) ON \(schema).\(table) \(definition)")
        try database.execute(Migrator.lockTimeout)
    }

    /// The kind of the table; nil if there is none, which PostgreSQL then reports.
    private func kind(in database: BlockingConnection) throws(DatabaseError) -> String? {
        let rows = try database.query("SELECT relkind::text FROM pg_class WHERE oid = to_regclass($1)") {
            $0.add("\(schema).\(table)")
        }
        return rows.first.map { $0[0] }
    }

    /// The partitions whose part of the index is not attached.
    private func partitionsWithout(in database: BlockingConnection) throws(DatabaseError) -> [String] {
        let rows = try database.query(
            """
            SELECT partition.relname::text
            FROM pg_inherits JOIN pg_class partition ON partition.oid = inhrelid
            WHERE inhparent = $1::regclass AND NOT EXISTS (
                SELECT FROM pg_inherits attached JOIN pg_index ON indexrelid = attached.inhrelid
                WHERE attached.inhparent = $2::regclass AND indrelid = partition.oid)
            ORDER BY partition.oid
            """
        ) { parameters in
            parameters.add("\(schema).\(table)")
            parameters.add("\(schema).\(name)")
        }
        return rows.map { $0[0] }
    }
}

extension Substring {
    /// Takes the word that the text begins with, in upper or lower case.
    fileprivate mutating func skip(_ word: String) -> Bool {
        var rest = self
        guard rest.takeWord()?.uppercased() == word else { return false }
        self = rest
        return true
    }

    /// Takes the text before the next white space, or before `end`.
    fileprivate mutating func takeWord(before end: Character = " ") -> Substring? {
        let start = drop(while: \.isWhitespace)
        let word = start.prefix { !$0.isWhitespace && $0 != end }
        guard !word.isEmpty else { return nil }
        self = start[word.endIndex...]
        return word
    }
}
