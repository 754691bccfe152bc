import Glibc

extension Migrator {
    /// What `store migrate` and `receipt migrate` do: apply what is missing, say so, and end the process; with 0 when the
    /// schema is up to date, with 1 when it could not be brought there.
    ///
    /// - Parameter arguments: what follows `migrate`: nothing, `--partitions N` or `--citus`.
    public func runAsCommand(databaseURL: String?, arguments: ArraySlice<String>) -> Never {
        guard let databaseURL else { Self.fail("PARLEY_DATABASE_URL must be set") }
        guard let layout = Layout(arguments: arguments) else {
            Self.fail("usage: migrate [--partitions 1…256 | --citus]")
        }
        do {
            let applied = try apply(toDatabaseAt: databaseURL, layout: layout)
            for migration in applied { print("\(schema): applied \(migration.number) \(migration.name)") }
            print("\(schema): up to date")
            exit(0)
        } catch {
            Self.fail(error.description)
        }
    }

    private static func fail(_ reason: String) -> Never {
        let line = Array("migrate: \(reason)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(1)
    }
}
