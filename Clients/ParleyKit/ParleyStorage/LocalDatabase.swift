import Models

/// The actor that owns a user's copy. Nothing waits for the network here, and nothing here is on the main actor.
package actor LocalDatabase {
    private var store: LocalStore?
    /// Where a damaged file was set aside when this one was opened, and how much unsent was saved from it.
    package nonisolated let setAside: String?
    package nonisolated let salvaged: Int

    package init(path: String) throws(StorageError) {
        let opened = try LocalStore.open(path: path)
        store = opened.store
        setAside = opened.setAside
        salvaged = opened.salvaged
    }

    /// Executes `body` on one snapshot of the copy.
    package func read<Value: Sendable>(
        _ body: @Sendable (LocalStore) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let store = try openStore
        return try store.read { () throws(StorageError) in try body(store) }
    }

    /// Executes `body` in a transaction: all of it is stored, or nothing.
    package func write<Value: Sendable>(
        _ body: @Sendable (LocalStore) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let store = try openStore
        return try store.write { () throws(StorageError) in try body(store) }
    }

    /// Differs when another process has written.
    package func dataVersion() throws(StorageError) -> Int64 { try openStore.connection.dataVersion() }

    /// Closes the file. From now on nothing can be read.
    package func close() { store = nil }

    private var openStore: LocalStore {
        get throws(StorageError) {
            guard let store else { throw StorageError(reason: .closed, description: "the database is closed") }
            return store
        }
    }
}
