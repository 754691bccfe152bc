import ParleyStorage

/// Databases in memory for one run of the simulation after the other: to make them, with all their statements, takes a good
/// part of the time that a run takes.
package final class StorePool {
    private var free: [LocalStore] = []

    package init() {}

    /// Returns a store as a new one is.
    package func take() throws -> LocalStore { try free.popLast() ?? LocalStore(path: ":memory:") }

    /// Takes a store back.
    package func put(_ store: LocalStore) throws {
        try store.write { () throws(StorageError) in
            let tables = try store.connection.all(
                """
                SELECT name FROM pragma_table_list
                WHERE schema = 'main' AND type = 'table' AND name NOT IN ('sqlite_schema', 'account')
                """
            ) { $0.text(0) }
            // The words go with their messages.
            for table in tables { try store.connection.execute("DELETE FROM \(table)") }
            try store.connection.execute("DELETE FROM account; INSERT INTO account (only) VALUES (1)")
        }
        free.append(store)
    }
}
