import Glibc

/// The command `statement`: prints the texts of prepared statements as PostgreSQL receives them, for EXPLAIN and benchmarks,
/// with a semicolon on a line of its own between them. Without a name it prints the names.
public enum StatementCommand {
    /// Ends the process, with status 0 if there are such statements.
    ///
    /// - Parameter names: of the shard that they are printed for; nil: as their files have them.
    public static func run(_ statements: [Statement], arguments: ArraySlice<String>, names: ShardNames? = nil) -> Never
    {
        if arguments.isEmpty {
            for name in Set(statements.map(\.name)).sorted() { print(name) }
            exit(0)
        }
        for (number, name) in arguments.enumerated() {
            guard let statement = statements.first(where: { $0.name == name }) else {
                let line = Array("statement: there is none with the name \(name)\n".utf8)
                _ = write(STDERR_FILENO, line, line.count)
                exit(1)
            }
            if number > 0 { print(";") }
            print(names?.applied(to: statement.sql) ?? statement.sql)
        }
        exit(0)
    }
}
