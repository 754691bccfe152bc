import CSQLite

/// A SQLite database of another program, read beside it. Its tables are known only when it is open, so statements are
/// texts of the moment; each is prepared once.
package final class ReadOnlyDatabase {
    /// The statements by their SQL.
    private var database: OpenDatabase<String>

    /// - Parameter isUnchanging: that nobody writes. SQLite then takes no locks and makes no files of its own beside it.
    package init(path: String, isUnchanging: Bool) throws(StorageError) {
        let uri = "file:\(Self.escaped(path))?mode=ro\(isUnchanging ? "&immutable=1" : "")"
        database = try OpenDatabase(uri, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
    }

    /// Calls `body` with each row. A statement that runs is not executed again within `body`.
    package func rows(_ sql: String, _ values: any SQLStorable..., body: (Row) throws -> Void) throws {
        try execute(sql, values, body)
    }

    /// Returns the first row as `read` reads it; nil if there is none.
    package func first<Value>(_ sql: String, _ values: any SQLStorable..., read: (Row) -> Value) throws -> Value? {
        var value: Value?
        try execute(sql, values) { row in if value == nil { value = read(row) } }
        return value
    }

    /// Returns all rows as `read` reads them.
    package func all<Value>(_ sql: String, _ values: any SQLStorable..., read: (Row) -> Value) throws -> [Value] {
        var result: [Value] = []
        try execute(sql, values) { result.append(read($0)) }
        return result
    }

    /// Copies the whole database into a file, in one snapshot. What the file held is lost.
    package func copy(to path: String) throws(StorageError) {
        var target: OpaquePointer?
        defer { sqlite3_close_v2(target) }
        let code = sqlite3_open_v2(path, &target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        guard code == SQLITE_OK, let backup = sqlite3_backup_init(target, "main", database.handle, "main") else {
            throw StorageError(sqlite3_errcode(target), target, during: "opening a copy")
        }
        let step = sqlite3_backup_step(backup, -1)
        let end = sqlite3_backup_finish(backup)
        guard step == SQLITE_DONE, end == SQLITE_OK else {
            throw StorageError(step == SQLITE_DONE ? end : step, target, during: "copying")
        }
    }

    private func execute(_ sql: String, _ values: [any SQLStorable], _ body: (Row) throws -> Void) throws {
        let statement = try database.prepared(sql, sql, length: -1)
        precondition(sqlite3_stmt_busy(statement.handle) == 0, "a statement is executed once at a time")
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() { try body(Row(handle: statement.handle)) }
    }

    /// The path of a URI: everything but letters, digits and `/-._~` as percent and two digits.
    private static func escaped(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let plain = Set("/-._~".utf8)
        return String(
            decoding: path.utf8.flatMap { byte -> [UInt8] in
                let isAlphanumeric =
                    Unicode.Scalar(byte).isASCII && Unicode.Scalar(byte).properties.isAlphabetic
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                if isAlphanumeric || plain.contains(byte) { return [byte] }
                return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }, as: UTF8.self)
    }
}

extension Row {
    package func bytes(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
