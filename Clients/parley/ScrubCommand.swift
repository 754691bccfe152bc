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

            In a cluster of Citus all nodes are scrubbed, one after the other; each is reached under the name that the database has
            for it.
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
            let connection = try BlockingConnection(url: url, applicationName: Self.applicationName)
            guard try connection.isDistributed() else {
                return try Scrub(connection, patience: patience).run() ? 0 : 1
            }
            var isComplete = true
            for node in try nodes(connection) where !scrub(node) { isComplete = false }
            return isComplete ? 0 : 1
        } catch {
            Terminal.tell("parley: \(error.debugDescription)")
            return 1
        }
    }

    // MARK: Citus

    private static let applicationName = "parley-scrub"

    private func nodes(_ connection: BlockingConnection) throws(DatabaseError) -> [NodeAddress] {
        try connection.query(
            """
            SELECT nodename::text, nodeport::integer FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid
            """
        ).map { NodeAddress(host: $0[0], port: $0[1]) }
    }

    /// Returns whether nothing is left. A node that is away keeps none of the others from being scrubbed.
    private func scrub(_ node: NodeAddress) -> Bool {
        do throws(DatabaseError) {
            let connection = try BlockingConnection(url: url, node: node, applicationName: Self.applicationName)
            return try Scrub(connection, node: node, patience: patience).run()
        } catch {
            Terminal.tell("parley: \(node.host): \(error.debugDescription)")
            return false
        }
    }
}
