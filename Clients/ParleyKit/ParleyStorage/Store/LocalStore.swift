import Models

/// A user's local copy: everything a screen shows is read from here, and what the user does is written here first.
///
/// It is synchronous and not `Sendable`; `LocalDatabase` is the actor around it.
package final class LocalStore {
    package let connection: Connection
    /// Where the files of messages are.
    package let files: FileFolder
    /// How many bytes of loaded and sent files stay. Beyond, those are removed that nobody looked at for longest.
    package var mostFileBytes = Int64.max

    /// Opens the database, or creates it, and brings it to the latest version.
    package init(path: String) throws(StorageError) {
        connection = try Connection(path: path)
        files = FileFolder(ofDatabase: path)
        // WAL: readers do not wait for a writer, such as another process of the same application. A commit survives the
        // end of the process; what a loss of power takes from the end of the log is loaded from the server again, except
        // the outbox: hence FULL.
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
        // Texts are in no temporary file outside of the user's folder. There may be no place for one, as in a container.
        try connection.execute("PRAGMA temp_store = MEMORY")
        try connection.migrate()
    }

    package func write<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try connection.write(body)
    }

    package func read<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try connection.read(body)
    }
}
