import Postgres

extension TestDatabase {
    /// Gives the tables of these schemas the names of a shard's, as on a worker of Citus, and removes the published views.
    /// Returns the names.
    package func becomeShard(_ schemas: [String], views: [PublishedView]) throws -> ShardNames {
        let connection = try connect()
        for view in views { try connection.execute("DROP VIEW \(view.name)") }
        let tables = try connection.query(
            """
            SELECT format('%I.%I', relnamespace::regnamespace, relname) FROM pg_class
            WHERE relkind = 'r' AND relnamespace::regnamespace::text = ANY (string_to_array($1, ','))
            AND relname NOT IN ('services', 'migrations', 'migrations_beside')
            """
        ) { $0.add(schemas.joined(separator: ",")) }.map { $0[0] as String }
        for table in tables {
            let name = table.split(separator: ".")[1]
            try connection.execute("ALTER TABLE \(table) RENAME TO \(name)\(Self.shardSuffix)")
        }
        let keys = try connection.query(
            """
            SELECT format('%I.%I', relnamespace::regnamespace, relname), array_agg(attname::text)
            FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
            WHERE relkind = 'r' AND relname LIKE '%\(Self.shardSuffix)' GROUP BY c.oid
            """
        ).map {
            (table: String(($0[0] as String).dropLast(Self.shardSuffix.count)), columns: Set($0.array(1) as [String]))
        }
        return ShardNames(
            tables: Dictionary(uniqueKeysWithValues: tables.map { ($0, $0 + Self.shardSuffix) }),
            users: Set(keys.lazy.filter { $0.columns.contains("user_slot") }.map(\.table)),
            everywhere: Set(keys.lazy.filter { $0.columns.isDisjoint(with: ["slot", "user_slot"]) }.map(\.table)),
            views: views)
    }

    /// Gives a database whose tables have become a shard's the tables of these names again, without rows, as every node of Citus
    /// has them.
    package func createShells(of tables: some Sequence<String>) throws {
        let connection = try connect()
        for table in tables {
            try connection.execute("CREATE TABLE \(table) (LIKE \(table)\(Self.shardSuffix))")
        }
    }

    private static let shardSuffix = "_102008"

    /// A statement in which each table and each view is a `T`, with the alias that stands for it only if it has another name:
    /// the same for a statement and for what it becomes for the shard.
    package static func withoutTables(_ sql: String, views: [PublishedView], names: ShardNames) -> String {
        var text = sql
        for view in views {
            // As it is among other things, where it needs an alias.
            let shard = names.applied(to: "\(view.name) v").dropLast(" v".count)
            text = text.replacing(shard, with: view.name)
        }
        return text.replacing(#/\b(?:store|receipt|media)\.(?<name>[a-z_]+?)(?:_102008)?\b(?: AS (?<alias>[a-z_]+))?/#)
        { found in
            guard let alias = found.alias, alias != found.name else { return "T" }
            return "T AS \(alias)"
        }
    }
}
