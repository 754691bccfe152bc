import Archives
import CommandSupport
import Models
import ParleyClient
import Reactor

/// `parley replay`: plays real conversations through a system and checks the results.
struct ReplayCommand: Command {
    static let description = CommandDescription(
        name: "replay",
        summary: "Plays conversations through the API and compares what comes of them, message by message.",
        positional: ["FILE"],
        options: [
            .init("in-flight", "N", "how many messages are on their way at once (default 64)"),
            .init(
                "rate", "N", "send N messages a second, whatever the server does; latency counts from when each was due"
            ),
            .init(
                "ordered", nil,
                "in each conversation send only when the message before was acknowledged,\nand demand the order of the file"
            ),
            .init("listeners", "N", "how many members of each conversation watch it (default 3)"),
            .init("limit", "N", "play only the first N messages of each conversation"),
            .init("connections", "N", "HTTP connections to each address of --http (default 16)"),
            .init(
                "run", "NAME",
                "a name for this replay: repeated under the same name it makes no doubles\n(default: a new one)"),
            .init("json", "FILE", "write the numbers there too"),
        ] + ConnectionArguments.options,
        details: """
            FILE has one conversation per line:
              {"conversation": NAME, "messages": [{"n": NUMBER, "sender": NAME, "text": TEXT, "replyTo"?: NUMBER}, ...]}
            Every conversation becomes a group, every sender a user "irc:NAME" with a token. Some members of each are
            connected over WebSocket and acknowledge delivery and reading. Replies wait for their parents; what is refused
            for the moment is sent again with the same id. In the end every history is read back and compared: text,
            sender, parent, no message twice or missing, positions without holes, each listener every change once and in
            order, and with the digests that the server gives. The exit status is 0 when there is no mismatch, else 1.
            """)

    private let connection: ConnectionArguments
    private let plan: ReplayPlan
    private let runName: String
    private let settings: Replay.Settings
    private let reportFile: String?

    init(_ arguments: Arguments) throws(UsageError) {
        connection = try ConnectionArguments(arguments)
        runName = arguments.value("run") ?? UUIDBytes.makeTimeOrdered().description
        var sources = try IRCConversation.read(file: arguments.positional[0])
        if let limit = try arguments.integer("limit", in: 1...1_000_000) {
            for index in sources.indices { sources[index].messages = Array(sources[index].messages.prefix(limit)) }
        }
        plan = try ReplayPlan(sources, run: runName, listeners: try arguments.integer("listeners", in: 0...100) ?? 3)
        settings = try Self.settings(arguments)
        reportFile = arguments.value("json")
    }

    private static func settings(_ arguments: Arguments) throws(UsageError) -> Replay.Settings {
        var settings = Replay.Settings()
        if let count = try arguments.integer("in-flight", in: 1...10_000) { settings.pace = .inFlight(count) }
        if let rate = try arguments.integer("rate", in: 1...1_000_000) { settings.pace = .rate(rate) }
        if let count = try arguments.integer("connections", in: 1...1000) { settings.connectionsPerEndpoint = count }
        settings.strictOrder = arguments.flag("ordered")
        return settings
    }

    @Reactor func run() async -> Int32 {
        Terminal.tell("run \(runName)")
        let replay = Replay(plan, connection: connection, settings: settings)
        do throws(APIError) {
            let report = try await replay.run(ReplayProgress())
            Terminal.say(report.table)
            if let reportFile { try TextFile.write(report.json + "\n", to: reportFile) }
            return report.mismatches.count == 0 ? 0 : 1
        } catch {
            Terminal.tell("parley: \(error)")
            return 1
        }
    }
}
