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
        return ShardNames(
            tables: Dictionary(uniqueKeysWithValues: tables.map { ($0, $0 + Self.shardSuffix) }), views: views)
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
