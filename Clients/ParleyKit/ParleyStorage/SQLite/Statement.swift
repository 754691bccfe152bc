import CSQLite
import Models

/// A prepared statement. Its connection owns it and closes it.
struct Statement {
    let handle: OpaquePointer

    func bind(_ values: [any SQLStorable]) throws(StorageError) {
        for index in values.indices { try bind(values[index].sqlValue, at: Int32(index) + 1) }
    }

    private func bind(_ value: SQLValue, at index: Int32) throws(StorageError) {
        let code =
            switch value {
            case .null: sqlite3_bind_null(handle, index)
            case .integer(let number): sqlite3_bind_int64(handle, index, number)
            case .text(let text): Self.bind(text, to: handle, at: index)
            case .uuid(let uuid): Self.bind(uuid, to: handle, at: index)
            }
        guard code == SQLITE_OK else {
            throw StorageError(code, sqlite3_db_handle(handle), during: "binding a parameter")
        }
    }

    private static func bind(_ text: String, to handle: OpaquePointer, at index: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { bytes in
                // Without an address SQLite would take an empty text for NULL.
                guard let start = bytes.baseAddress else { return sqlite3_bind_text(handle, index, "", 0, copied) }
                return sqlite3_bind_text64(
                    handle, index, start, sqlite3_uint64(bytes.count), copied, UInt8(SQLITE_UTF8))
            }
        }
    }

    private static func bind(_ uuid: UUIDBytes, to handle: OpaquePointer, at index: Int32) -> Int32 {
        withUnsafeBytes(of: (uuid.high.bigEndian, uuid.low.bigEndian)) {
            sqlite3_bind_blob(handle, index, $0.baseAddress, 16, copied)
        }
    }

    /// Tells SQLite to copy what is bound: `SQLITE_TRANSIENT`, a macro that Swift does not see.
    private static var copied: sqlite3_destructor_type {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }

    /// Returns whether there is a row.
    func step() throws(StorageError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw StorageError(code, sqlite3_db_handle(handle), during: "executing a statement")
        }
    }

    /// Makes it ready for its next use, without the texts it was given.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }
}

/// The present row of a statement, valid within the closure that receives it.
package struct Row {
    let handle: OpaquePointer

    package var columnCount: Int32 { sqlite3_column_count(handle) }

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func flag(_ column: Int32) -> Bool { integer(column) != 0 }

    package func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
        return String(decoding: bytes, as: UTF8.self)
    }

    package func uuid(_ column: Int32) -> UUIDBytes {
        guard let start = sqlite3_column_blob(handle, column), sqlite3_column_bytes(handle, column) == 16 else {
            return .zero
        }
        let high = start.loadUnaligned(as: UInt64.self)
        let low = start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        return UUIDBytes(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
    }

    package func time(_ column: Int32) -> Timestamp { Timestamp(milliseconds: integer(column)) }

    package func user(_ column: Int32) -> UserID { text(column).asUser }

    /// Reads a column that may be NULL.
    package func optional<Value>(_ column: Int32, _ read: (Int32) -> Value) -> Value? {
        isNull(column) ? nil : read(column)
    }
}

extension String {
    /// A user id that was checked before it was stored.
    fileprivate var asUser: UserID {
        var name = self
        return name.withUTF8 { UserID(trusted: UnsafeRawBufferPointer($0)) }
    }
}
