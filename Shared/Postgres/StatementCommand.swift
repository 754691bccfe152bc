import Glibc

/// The command `statement`: prints a prepared statement's text as PostgreSQL receives it, for EXPLAIN and benchmarks.
/// Without a name it prints the names.
public enum StatementCommand {
    /// Ends the process, with status 0 if there is such a statement.
    ///
    /// - Parameter names: of the shard that it is printed for; nil: as its file has it.
    public static func run(_ statements: [Statement], arguments: ArraySlice<String>, names: ShardNames? = nil) -> Never
    {
        guard let name = arguments.first else {
            for name in Set(statements.map(\.name)).sorted() { print(name) }
            exit(0)
        }
        guard let statement = statements.first(where: { $0.name == name }) else {
            let line = Array("statement: there is none with the name \(name)\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
            exit(1)
        }
        print(names?.applied(to: statement.sql) ?? statement.sql)
        exit(0)
    }
}
