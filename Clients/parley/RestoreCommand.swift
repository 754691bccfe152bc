import CommandSupport
import Glibc
import Reactor
import ServiceKit

/// `parley restore`: restores a backup to an empty database, which then knows that it was restored.
struct RestoreCommand: Command {
    static let description = CommandDescription(
        name: "restore", summary: "Restores a backup into an empty database.", positional: ["FILE"],
        details: """
            FILE comes from pg_dump --format=custom. PARLEY_DATABASE_URL names the database, whose services must be
            stopped. Runs pg_restore, in one transaction, and then `store restored`, which makes clients start anew.
            """)

    private let file: String
    private let databaseURL: String

    init(_ arguments: Arguments) throws(UsageError) {
        file = arguments.positional[0]
        var environment = Environment.process
        guard let url = environment.optionalString("PARLEY_DATABASE_URL") else {
            throw UsageError("PARLEY_DATABASE_URL must name the database to restore into")
        }
        databaseURL = url
    }

    @Reactor func run() async -> Int32 {
        let restore = ["pg_restore", "--single-transaction", "--exit-on-error", "--dbname=\(databaseURL)", file]
        guard Self.succeeds(restore) else { return Self.complain("pg_restore failed") }
        guard Self.succeeds([SiblingExecutable("store").path, "restored"]) else {
            return Self.complain("the backup is restored, but `store restored` failed: run it before any service")
        }
        return 0
    }

    private static func complain(_ text: String) -> Int32 {
        Terminal.tell("parley: \(text)")
        return 1
    }

    /// Runs a program to completion with this one's environment and terminal.
    private static func succeeds(_ words: [String]) -> Bool {
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        var status: CInt = 0
        guard posix_spawnp(&process, words[0], nil, nil, &arguments, environ) == 0 else { return false }
        while waitpid(process, &status, 0) == -1 { guard errno == EINTR else { return false } }
        return status == 0
    }
}
