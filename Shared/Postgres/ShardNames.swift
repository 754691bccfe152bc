/// The names of the tables of one shard, by which its statements are sent straight to its node, past Citus.
///
/// Statements name tables with their schema, and nothing else has the schema of a service before a dot. A table becomes
/// its shard, under the alias that it has, or that of its own name: `store.messages m` becomes
/// `store.messages_102094 m`, and `store.slots` becomes `store.slots_102008 AS slots`. A published view becomes its
/// query, in brackets: the view itself goes through Citus. What has no shard is a table of the node itself and stays.
///
/// A statement that reads tables of conversations and tables of users needs rows of two slots, which may be on two nodes. It
/// runs where the conversation is, and what it needs of users is borrowed (`UserRows`).
public struct ShardNames: Equatable, Sendable {
    private struct Name: Equatable {
        /// What stands in its place; of a view its query as it is published.
        let shard: String
        /// Without the schema: an alias for what needs one.
        let table: String
        var isView = false
    }

    private var names: [String: Name] = [:]
    private let users: Set<String>
    private let everywhere: Set<String>

    /// - Parameters:
    ///   - tables: the name of each table's shard, both with their schema.
    ///   - users: those of these tables that are distributed by the slots of users.
    ///   - everywhere: those that every node has.
    ///   - views: all published views of tables among these.
    public init(
        tables: [String: String], users: Set<String> = [], everywhere: Set<String> = [], views: [PublishedView]
    ) {
        self.users = users
        self.everywhere = everywhere
        for (table, shard) in tables { names[table] = Name(shard: shard, table: Self.withoutSchema(table)) }
        for view in views {
            names[view.name] = Name(shard: view.query, table: Self.withoutSchema(view.name), isView: true)
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
    public func applied(to sql: String) -> String { applied(to: sql) { $0.shard } }

    /// - Parameter place: what stands in the place of a table.
    private func applied(to sql: String, _ place: (Name) -> String) -> String {
        var scanner = SQLScanner(sql)
        var result: [UInt8] = []
        result.reserveCapacity(sql.utf8.count * 5 / 4)
        while let piece = scanner.next() {
            switch piece {
            case .code(let byte) where SQLScanner.isNameCharacter(byte):
                let word = Self.word(at: &scanner)
                result += replacement(of: word, scanner, place).utf8
            case .code(let byte): result.append(byte)
            case .verbatim(let range): result += scanner.bytes[range]
            case .lineComment: break
            case .blockComment: result.append(UInt8(ascii: " "))
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The whole name that begins at the character before the scanner's position.
    private static func word(at scanner: inout SQLScanner) -> String {
        // A number goes on like a name: what follows its digits is none.
        let start = scanner.position - 1
        _ = scanner.take { SQLScanner.isNameCharacter($0) || $0 == .dot }
        return String(decoding: scanner.bytes[start..<scanner.position], as: UTF8.self)
    }

    public func applied(to statement: Statement) -> Statement { applied(to: statement, .ofShard) }

    private func replacement(of word: String, _ scanner: SQLScanner, _ place: (Name) -> String) -> String {
        guard let name = names[word] else { return word }
        let replacement = name.isView ? "(\(applied(to: name.shard, place)))" : place(name)
        return scanner.isBeforeAlias ? replacement : "\(replacement) AS \(name.table)"
    }

    // MARK: Rows of users

    /// The statement for this shard, with what it reads of users from there if it has to borrow it.
    public func applied(to statement: Statement, _ users: UserRows) -> Statement {
        var applied = statement
        let borrowed = users == .ofShard ? [] : borrowedTables(of: statement)
        let first = statement.parameters.count + 1
        applied.parameters += borrowed.map { _ in .text }
        applied.sql = self.applied(to: statement.sql) { name in
            guard let place = borrowed.firstIndex(where: { names[$0] == name }) else { return name.shard }
            return "unnest($\(first + place)::\(borrowed[place])[])"
        }
        return applied
    }

    /// The tables of users that a statement reads beside tables of conversations, in order: what it has to borrow. None if it
    /// reads tables of one side only.
    public func borrowedTables(of statement: Statement) -> [String] {
        var found: Set<String> = []
        collectTables(in: statement.sql, &found)
        let ofUsers = found.intersection(users)
        return found.subtracting(everywhere).count > ofUsers.count ? ofUsers.sorted() : []
    }

    /// Whether a statement reads or writes tables of users only, or nothing that is distributed.
    public func isOfUsers(_ statement: Statement) -> Bool {
        var found: Set<String> = []
        collectTables(in: statement.sql, &found)
        return found.subtracting(everywhere).isSubset(of: users)
    }

    private func collectTables(in sql: String, _ found: inout Set<String>) {
        var scanner = SQLScanner(sql)
        while let piece = scanner.next() {
            guard case .code(let byte) = piece, SQLScanner.isNameCharacter(byte) else { continue }
            let word = Self.word(at: &scanner)
            guard let name = names[word] else { continue }
            if name.isView { collectTables(in: name.shard, &found) } else { found.insert(word) }
        }
    }
}

/// Where a statement finds rows of users, if it reads tables of both sides.
public enum UserRows: Sendable {
    /// In the shard that it runs in: it is of one slot, or all is in this shard.
    case ofShard
    /// In parameters, one for each table behind those that the statement declares, in the order of `borrowedTables`: a text as
    /// PostgreSQL writes an array of the table's rows. They have no system columns.
    case parameters
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
