import CSQLite

/// An open SQLite database with the statements that were prepared for it, each once. It is closed with its owner.
struct OpenDatabase<Key: Hashable>: ~Copyable {
    let handle: OpaquePointer
    private var statements: [Key: Statement]

    /// How long to wait for another process that writes, or restarts its log.
    private static var patienceMilliseconds: Int32 { 5_000 }

    /// - Parameters:
    ///   - name: its path, or a URI where the flags say so.
    ///   - flags: beside those that all connections have.
    init(_ name: String, flags: Int32) throws(StorageError) {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let handle else {
            let error = StorageError(code, handle, during: "opening the database")
            sqlite3_close_v2(handle)
            throw error
        }
        self.handle = handle
        statements = [:]
        sqlite3_busy_timeout(handle, Self.patienceMilliseconds)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement.handle) }
        sqlite3_close_v2(handle)
    }

    /// The statement of this name.
    ///
    /// - Parameter length: of the SQL in bytes; -1 if it ends with a zero byte.
    mutating func prepared(
        _ key: Key, _ sql: UnsafePointer<CChar>, length: Int32
    ) throws(StorageError) -> Statement {
        if let known = statements[key] { return known }
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(self.handle, sql, length, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else {
            throw StorageError(code, self.handle, during: "preparing a statement")
        }
        let statement = Statement(handle: handle)
        statements[key] = statement
        return statement
    }
}
