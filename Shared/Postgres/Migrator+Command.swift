import Glibc

extension Migrator {
    /// Runs `store migrate` or `receipt migrate`: applies what is missing, reports it, and ends the process. The exit
    /// code is 0 if the schema is up to date, and 1 if it could not be updated.
    ///
    /// - Parameter arguments: the arguments after `migrate`: none, `--partitions N`, `--citus` or `--citus N`.
    public func runAsCommand(databaseURL: String?, arguments: ArraySlice<String>) -> Never {
        guard let databaseURL else { Self.fail("PARLEY_DATABASE_URL must be set") }
        guard let layout = Layout(arguments: arguments) else {
            Self.fail("usage: migrate [--partitions 1…256 | --citus [1…256]]")
        }
        do {
            let applied = try apply(toDatabaseAt: databaseURL, layout: layout) {
                Self.say("\(schema): tables are in use, by a dump perhaps: trying again until they are free")
            }
            for migration in applied { print("\(schema): applied \(migration.number) \(migration.name)") }
            print("\(schema): up to date")
            exit(0)
        } catch {
            Self.fail(error.description)
        }
    }

    private static func fail(_ reason: String) -> Never {
        say(reason)
        exit(1)
    }

    private static func say(_ text: String) {
        let line = Array("migrate: \(text)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
