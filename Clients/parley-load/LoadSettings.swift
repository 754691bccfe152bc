import CommandSupport
import Models

/// The settings of all scenarios.
struct LoadSettings: Sendable {
    static let options: [CommandDescription.Option] =
        [
            .init("duration", "TIME", "how long to measure (default 10s)"),
            .init("warmup", "TIME", "how long to run before that (default 2s)"),
            .init("settle", "TIME", "how long what was sent last may take to arrive everywhere (default 30s)"),
            .init("text-bytes", "N", "the length of the messages' texts (default 120)"),
            .init("check", "N", "read back only N conversations afterwards (default: all)"),
            .init("json", "FILE", "write the numbers there too"),
        ] + ConnectionArguments.options

    let connection: ConnectionArguments
    /// The number of the run. It is part of message ids and user names, so runs against one system do not collide.
    let run: Int
    let runName: String
    let duration: Duration
    let warmup: Duration
    let settle: Duration
    let text: LoadText
    let conversationsToCheck: Int?
    /// The state directory of the system whose processes are measured.
    let state: String?

    init(_ arguments: Arguments) throws(UsageError) {
        connection = try ConnectionArguments(arguments)
        let name = UUIDBytes.makeTimeOrdered()
        run = Int(name.low & UInt64(MessageNumber.largestRun))
        runName = String((name.high >> 16) << 14 | UInt64(run), radix: 36)
        duration = try arguments.duration("duration") ?? .seconds(10)
        warmup = try arguments.duration("warmup") ?? .seconds(2)
        settle = try arguments.duration("settle") ?? .seconds(30)
        text = LoadText(bytes: try arguments.integer("text-bytes", in: 17...16_384) ?? 120)
        conversationsToCheck = try arguments.integer("check", in: 0...MessageNumber.largestConversation)
        // If the system was named by addresses, the processes of PARLEY_STATE are not its own.
        state = SystemSettings.state(isSystemNamed: !arguments.list("http").isEmpty)
    }
}
