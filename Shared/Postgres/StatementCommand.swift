import Glibc

/// The command `statement`: prints a prepared statement's text as PostgreSQL receives it, for EXPLAIN and benchmarks.
/// Without a name it prints the names.
public enum StatementCommand {
    /// Ends the process, with status 0 if there is such a statement.
    public static func run(_ statements: [Statement], arguments: ArraySlice<String>) -> Never {
        guard let name = arguments.first else {
            for name in Set(statements.map(\.name)).sorted() { print(name) }
            exit(0)
        }
        guard let statement = statements.first(where: { $0.name == name }) else {
            let line = Array("statement: there is none with the name \(name)\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
            exit(1)
        }
        print(statement.sql)
        exit(0)
    }
}
