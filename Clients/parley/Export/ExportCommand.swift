import Archives
import CommandSupport
import Glibc
import Models
import ParleyPresentation
import Reactor

/// `parley export`: writes what `parley import parley` reads.
struct ExportCommand: Command {
    static let description = CommandDescription(
        name: "export",
        summary: "Exports a conversation, or what a user has in conversations, as a file of records.",
        positional: ["WHAT", "ID"],
        options: [
            .init("output", "FILE", "where the records are written, a line each; - is standard output (default)"),
            .init("patience", "TIME", "how long to try anew while the system cannot complete it (default 10m)"),
            .init("quiet", nil, "show no progress"),
        ] + ConnectionArguments.httpOptions,
        details: """
            WHAT is conversation or user, ID the id of a conversation or the name of a user.

            A file has its name when it is complete, and FILE.part before. An export is of one state, so one that is cut off
            begins anew; on standard output it cannot, and ends.

            The exit status is 0 when everything is written; 1 when the system refuses it, or the file cannot be written; 3
            when it is not complete, and the same command begins it anew.
            Example: parley export user alice --output alice.ndjson
            """)

    private enum Subject: String {
        case conversation, user
    }

    private let connection: ConnectionArguments
    private let settings: ExportDownload.Settings
    private let showsProgress: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        connection = try ConnectionArguments(arguments)
        var settings = ExportDownload.Settings(
            path: try Self.path(arguments.positional[0], arguments.positional[1]),
            output: arguments.value("output").flatMap { $0 == "-" ? nil : $0 })
        if let patience = try arguments.duration("patience") { settings.patience = patience }
        self.settings = settings
        showsProgress = Terminal.isInteractive && !arguments.flag("quiet")
    }

    private static func path(_ what: String, _ id: String) throws(UsageError) -> String {
        switch Subject(rawValue: what) {
        case .conversation:
            guard UUIDBytes(id) != nil else { throw UsageError("ID must be a UUID in lower case") }
            return "/v1/export/conversations/\(id)"
        case .user:
            guard let user = UserID(id) else {
                throw UsageError("ID must be 1 to 64 characters of A-Z a-z 0-9 . _ - @ : +")
            }
            return "/v1/export/users/\(user)"
        case nil: throw UsageError("\"\(what)\" cannot be exported: it is conversation or user")
        }
    }

    @Reactor func run() async -> Int32 {
        let download = ExportDownload(settings, from: connection)
        for signal in [SIGINT, SIGTERM] { Reactor.onSignal(signal) { download.stop() } }
        if showsProgress { show(download) }
        let outcome = await download.run()
        if showsProgress { Terminal.replaceLine("") }
        switch outcome {
        case .complete:
            Terminal.tell("exported \(download.text)")
            return 0
        case .failed(let reason): return fail(reason, 1)
        case .unfinished(let reason): return fail("not complete: \(reason)", 3)
        }
    }

    private func fail(_ reason: String, _ status: Int32) -> Int32 {
        Terminal.tell("parley: \(HarmlessText.line(reason, limit: 500))")
        return status
    }

    @Reactor private func show(_ download: ExportDownload) {
        Reactor.after(.milliseconds(200)) {
            guard !download.isEnded else { return }
            let trouble = download.trouble.map { "   waiting: \(HarmlessText.line($0, limit: 80))" } ?? ""
            Terminal.replaceLine(download.text + trouble)
            show(download)
        }
    }
}
