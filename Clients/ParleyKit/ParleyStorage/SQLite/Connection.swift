import CSQLite

/// A connection to a SQLite database: prepares each statement once and keeps it.
///
/// It is not `Sendable`: one actor owns it and everything that uses it.
package final class Connection {
    /// The statements by the address of their SQL, which is a constant of the program.
    private var database: OpenDatabase<UnsafePointer<UInt8>>
    private var handle: OpaquePointer { database.handle }

    /// - Parameter path: of the file, which is created if there is none; `:memory:` for a database in memory.
    package init(path: String) throws(StorageError) {
        database = try OpenDatabase(path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    }

    // MARK: Statements

    package func run(_ sql: StaticString, _ values: any SQLStorable...) throws(StorageError) {
        try rows(sql, values) { _ in }
    }

    /// Executes a statement that changes rows, and returns how many it changed.
    @discardableResult
    package func changes(_ sql: StaticString, _ values: any SQLStorable...) throws(StorageError) -> Int {
        try rows(sql, values) { _ in }
        return Int(sqlite3_changes(handle))
    }

    /// Returns the first row as `read` reads it; nil if there is none.
    package func first<Value>(
        _ sql: StaticString, _ values: any SQLStorable..., read: (Row) -> Value
    ) throws(StorageError) -> Value? {
        var value: Value?
        try rows(sql, values) { row in if value == nil { value = read(row) } }
        return value
    }

    /// Returns all rows as `read` reads them.
    package func all<Value>(
        _ sql: StaticString, _ values: any SQLStorable..., read: (Row) -> Value
    ) throws(StorageError) -> [Value] {
        var result: [Value] = []
        try rows(sql, values) { result.append(read($0)) }
        return result
    }

    private func rows(
        _ sql: StaticString, _ values: [any SQLStorable], _ body: (Row) -> Void
    ) throws(StorageError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() { body(Row(handle: statement.handle)) }
    }

    private func prepared(_ sql: StaticString) throws(StorageError) -> Statement {
        let start = UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self)
        return try database.prepared(sql.utf8Start, start, length: Int32(sql.utf8CodeUnitCount))
    }

    /// Executes statements that are not kept, such as a migration.
    package func execute(_ script: String) throws(StorageError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw StorageError(code, handle, during: "executing a script") }
    }

    // MARK: Transactions

    /// Executes `body` in a transaction that writes. If it throws, nothing of it is stored.
    package func write<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try transaction(writing: true, body)
    }

    /// Executes `body` on one snapshot of the database.
    package func read<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try transaction(writing: false, body)
    }

    private func transaction<Value>(
        writing: Bool, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        // Within another transaction, it is part of that one.
        guard sqlite3_get_autocommit(handle) != 0 else { return try body() }
        try run(writing ? "BEGIN IMMEDIATE" : "BEGIN")
        do throws(StorageError) {
            let value = try body()
            try run("COMMIT")
            return value
        } catch {
            // SQLite may have rolled back by itself, such as when the disk is full.
            if sqlite3_get_autocommit(handle) == 0 { try? run("ROLLBACK") }
            throw error
        }
    }

    /// A number that differs when another connection has committed in the meantime.
    package func dataVersion() throws(StorageError) -> Int64 {
        try first("PRAGMA data_version") { $0.integer(0) } ?? 0
    }
}
