import Archives
import CommandSupport
import Glibc
import Models
import ParleyPresentation
import Reactor

/// `parley import`: brings an archive into a running system, or says what would become of it.
struct ImportCommand: Command {
    static let description = CommandDescription(
        name: "import",
        summary: "Imports an archive, such as the database of Apple's Messages, and says what becomes of it.",
        positional: ["FORMAT", "FILE"], repeatsLast: true,
        options: [
            .init("me", "USER", "chatdb: the user whose file it is"),
            .init("dry-run", nil, "send nothing: count and name what an import would refuse"),
            .init("records", "FILE", "with --dry-run: write the records there, a line each; - is standard output"),
            .init("follow", nil, "chatdb: keep up with the file afterwards, until Ctrl-C"),
            .init(
                "state", "DIRECTORY",
                """
                with --follow: where it is kept what was done
                (default: parley/SERVER/follow-USER in XDG_DATA_HOME, or in ~/.local/share)
                """),
            .init("open", nil, "open conversations to their members even if a record of them was refused"),
            .init("patience", "TIME", "how long to try while the system stores nothing (default 10m)"),
            .init("json", "FILE", "write the numbers of the report there, too"),
            .init("quiet", nil, "show no progress"),
        ] + ConnectionArguments.httpOptions,
        details: """
            FORMAT is one of:
              chatdb   FILE is the chat.db of Messages on a Mac, ~/Library/Messages/chat.db. It is only read, and Messages
                       may be running. Phone numbers and mail addresses become user ids.
              irc      FILE has logs of channels, as parley replay reads them, with the day in each conversation's name.
              parley   FILE has the records themselves, in the format of POST /v1/import.

            What was stored is not stored again, so the same command continues an import that was interrupted: by Ctrl-C, by a
            system that was away for longer than --patience, by anything. A conversation of which a record was refused is
            stored, but not opened to its members, unless --open says so.

            With --follow, a copy of chat.db is imported, and then what is new in the file goes in live, within 2 seconds, on
            behalf of the people concerned. The same command goes on where it was ended.

            The exit status is 0 when everything is stored and opened, or would be; 1 when something was refused, or the import
            cannot go on; 3 when it is not finished, and the same command continues it.
            Example: parley import chatdb chat.db --me alice --dry-run
            """)

    private let reader: any ArchiveReader & Sendable
    private let target: Target
    private let reportFile: String?
    private let showsProgress: Bool
    private let now = Timestamp.now

    private enum Target: Sendable {
        case nowhere(records: String?)
        case system(ConnectionArguments, ImportUpload.Settings)
        case following(FollowRun.Settings)
    }

    static let unfinished: Int32 = 3

    init(_ arguments: Arguments) throws(UsageError) {
        reader = try ArchiveFormat.reader(arguments, now: now)
        reportFile = arguments.value("json")
        showsProgress = Terminal.isInteractive && !arguments.flag("quiet")
        let records = arguments.value("records")
        if arguments.flag("dry-run") {
            guard !arguments.flag("follow") else { throw UsageError("--dry-run sends nothing, and --follow does") }
            target = .nowhere(records: records)
        } else {
            guard records == nil else { throw UsageError("--records needs --dry-run") }
            var settings = ImportUpload.Settings()
            if let patience = try arguments.duration("patience") { settings.patience = patience }
            settings.opensDespiteRefusals = arguments.flag("open")
            let connection = try ConnectionArguments(arguments)
            target =
                arguments.flag("follow")
                ? .following(try Self.following(arguments, connection, settings)) : .system(connection, settings)
        }
        guard arguments.flag("follow") || arguments.value("state") == nil else {
            throw UsageError("--state needs --follow")
        }
    }

    private static func following(
        _ arguments: Arguments, _ connection: ConnectionArguments, _ settings: ImportUpload.Settings
    ) throws(UsageError) -> FollowRun.Settings {
        guard arguments.positional[0] == ArchiveFormat.chatdb.rawValue else {
            throw UsageError("--follow is for chatdb: other archives do not change")
        }
        let me = try arguments.user("me")
        return FollowRun.Settings(
            path: arguments.positional[1], me: me, connection: connection, upload: settings,
            directory: UserDirectory.url(arguments.value("state"), "follow", of: me, server: connection.http[0]))
    }

    @Reactor func run() async -> Int32 {
        do {
            switch target {
            case .nowhere(let records): return try rehearse(to: records)
            case .system(let connection, let settings): return try await send(to: connection, settings)
            case .following(let settings): return try await follow(settings)
            }
        } catch {
            Terminal.tell("parley: \(error)")
            return 1
        }
    }

    private func rehearse(to records: String?) throws -> Int32 {
        var dryRun = try DryRun(to: records, now: now, showsProgress: showsProgress)
        let summary = ImportSummary(try dryRun.run(reader), dryRun)
        // The records may be on standard output.
        records == "-" ? Terminal.tell(summary.table) : Terminal.say(summary.table)
        try write(summary)
        return summary.isFaultless ? 0 : 1
    }

    @Reactor private func follow(_ settings: FollowRun.Settings) async throws -> Int32 {
        let run = FollowRun(settings, showsProgress: showsProgress)
        for signal in [SIGINT, SIGTERM] { Reactor.onSignal(signal) { run.interrupt() } }
        let report = try await run.run()
        Terminal.say(report.table)
        if let reportFile { try TextFile.write(report.json + "\n", to: reportFile) }
        if let reason = report.reason { Terminal.tell("parley: \(HarmlessText.line(reason, limit: 500))") }
        return report.status
    }

    @Reactor private func send(to connection: ConnectionArguments, _ settings: ImportUpload.Settings) async throws
        -> Int32
    {
        let upload = ImportUpload(reader, to: connection, settings: settings)
        for signal in [SIGINT, SIGTERM] { Reactor.onSignal(signal) { Self.interrupt(upload) } }
        let progress = showsProgress ? ImportProgress(of: upload) : nil
        let outcome = await upload.run()
        progress?.stop()
        return try tell(outcome, upload.tally)
    }

    /// The second time, whoever asks wants no more waiting. What is stored is stored.
    @Reactor private static func interrupt(_ upload: ImportUpload) {
        if upload.isStopping { exit(unfinished) }
        upload.stop()
    }

    private func tell(_ outcome: ImportUpload.Outcome, _ tally: ImportTally) throws -> Int32 {
        switch outcome {
        case .complete(.success(let report)):
            let summary = ImportSummary(report, tally, isComplete: true)
            try show(summary)
            return summary.isFaultless ? 0 : 1
        case .complete(.failure(let error)):
            return try fail("\(error)", tally, status: 1)
        case .failed(let reason):
            return try fail("the system refuses the import: \(reason)", tally, status: 1)
        case .unfinished(let reason):
            return try fail("not finished, the same command continues: \(reason)", tally, status: Self.unfinished)
        }
    }

    private func fail(_ reason: String, _ tally: ImportTally, status: Int32) throws -> Int32 {
        try show(ImportSummary(nil, tally, isComplete: false))
        Terminal.tell("parley: \(HarmlessText.line(reason, limit: 500))")
        return status
    }

    private func show(_ summary: ImportSummary) throws {
        Terminal.say(summary.table)
        try write(summary)
    }

    private func write(_ summary: ImportSummary) throws {
        if let reportFile { try TextFile.write(try summary.json + "\n", to: reportFile) }
    }
}
