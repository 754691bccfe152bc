import CommandSupport
import Glibc
import Postgres
import Reactor
import ServiceKit

/// `parley scrub`: removes the bytes of deleted data from the database files.
struct ScrubCommand: Command {
    static let description = CommandDescription(
        name: "scrub", summary: "Removes the bytes of deleted texts from the files of the database.",
        options: [
            .init(
                "database", "URL",
                "the database, as a role that owns it all\n(default: PARLEY_DATABASE_URL, else the development system's)"
            ),
            .init("patience", "TIME", "how long to wait for a lock or for somebody's transaction (default 1m)"),
        ],
        details: """
            Rewrites every table with its indexes, and gets rid of the write-ahead log of before. Texts that were deleted before
            it began are then in no file of the database; backups and other copies are not its business.

            The system may run. Each table is locked while it is rewritten, the small ones for milliseconds, `messages` for some
            three seconds per 100 MB: requests wait for it, and those that would wait longer than their deadline are answered 503 with
            Retry-After. The rewritten table needs its size again on the disk meanwhile.
            """)

    private let url: String
    private let patience: Duration

    init(_ arguments: Arguments) throws(UsageError) {
        url = try Self.url(arguments)
        patience = try arguments.duration("patience") ?? .seconds(60)
    }

    private static func url(_ arguments: Arguments) throws(UsageError) -> String {
        if let url = arguments.value("database") { return url }
        var environment = Environment.process
        if let url = environment.optionalString("PARLEY_DATABASE_URL") { return url }
        let file = environment.string("PARLEY_STATE", default: ".parley") + "/run/owner-database"
        guard let url = readTextFile(file) else {
            throw UsageError("no database: name it with --database or PARLEY_DATABASE_URL")
        }
        return String(url.prefix { !$0.isNewline })
    }

    @Reactor func run() async -> Int32 {
        do throws(DatabaseError) {
            let connection = try BlockingConnection(url: url, applicationName: "parley-scrub")
            return try Scrub(connection, patience: patience).run() ? 0 : 1
        } catch {
            Terminal.tell("parley: \(error.debugDescription)")
            return 1
        }
    }
}
