/// The names of the tables of one shard, by which its statements are sent straight to its node, past Citus.
///
/// Statements name tables with their schema, and nothing else has the schema of a service before a dot. A table becomes
/// its shard, under the alias that it has, or that of its own name: `store.messages m` becomes
/// `store.messages_102094 m`, and `store.slots` becomes `store.slots_102008 AS slots`. A published view becomes its
/// query, in brackets: the view itself goes through Citus. What has no shard is a table of the node itself and stays.
public struct ShardNames: Equatable, Sendable {
    private struct Name: Equatable {
        /// What stands in its place.
        let shard: String
        /// Without the schema: an alias for what needs one.
        let table: String
    }

    private var names: [String: Name] = [:]

    /// - Parameters:
    ///   - tables: the name of each table's shard, both with their schema.
    ///   - views: all published views of tables among these.
    public init(tables: [String: String], views: [PublishedView]) {
        for (table, shard) in tables { names[table] = Name(shard: shard, table: Self.withoutSchema(table)) }
        let ofTables = self
        for view in views {
            names[view.name] = Name(
                shard: "(\(ofTables.applied(to: view.query)))", table: Self.withoutSchema(view.name))
        }
    }

    /// The same for a session that has the rows of these tables in temporary ones of their names.
    public func borrowing(_ tables: [String]) -> ShardNames {
        var names = self
        for table in tables {
            let name = Self.withoutSchema(table)
            names.names[table] = Name(shard: "pg_temp.\(name)", table: name)
        }
        return names
    }

    /// The name of the shard of a table, with its schema.
    public func shard(of table: String) -> String? { names[table]?.shard }

    private static func withoutSchema(_ name: String) -> String {
        String(name[name.index(after: name.firstIndex(of: ".") ?? name.startIndex)...])
    }

    /// The statement for this shard. `sql` has no comments.
    public func applied(to sql: String) -> String {
        var scanner = SQLScanner(sql)
        var result: [UInt8] = []
        result.reserveCapacity(sql.utf8.count * 5 / 4)
        while let piece = scanner.next() {
            switch piece {
            case .code(let byte) where SQLScanner.isNameCharacter(byte):
                // A number goes on like a name: what follows its digits is none.
                let start = scanner.position - 1
                _ = scanner.take { SQLScanner.isNameCharacter($0) || $0 == .dot }
                let word = String(decoding: scanner.bytes[start..<scanner.position], as: UTF8.self)
                result += replacement(of: word, scanner).utf8
            case .code(let byte): result.append(byte)
            case .verbatim(let range): result += scanner.bytes[range]
            case .lineComment: break
            case .blockComment: result.append(UInt8(ascii: " "))
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    public func applied(to statement: Statement) -> Statement {
        var statement = statement
        statement.sql = applied(to: statement.sql)
        return statement
    }

    private func replacement(of word: String, _ scanner: SQLScanner) -> String {
        guard let name = names[word] else { return word }
        return scanner.isBeforeAlias ? name.shard : "\(name.shard) AS \(name.table)"
    }
}

extension UInt8 {
    fileprivate static let dot = UInt8(ascii: ".")
}

extension SQLScanner {
    /// Whether an alias follows: a name, which no file of statements writes like a keyword, in capitals, or `AS`.
    fileprivate var isBeforeAlias: Bool {
        let rest = bytes[position...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        if rest.starts(with: "AS ".utf8) { return true }
        return rest.first.map { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 } ?? false
    }
}
