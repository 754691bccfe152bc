import CommandSupport
import Reactor

/// `parley trace`: shows one message's journey through the services, from their logs.
struct TraceCommand: Command {
    static let description = CommandDescription(
        name: "trace", summary: "Prints a message's journey through the services.", positional: ["MESSAGE_ID"],
        options: [.init("log", "FILE", "a log to read; may be repeated (default: all in PARLEY_STATE)")],
        details: """
            Only requests whose `traceparent` header says "sampled" leave a trace in the logs, for example
              curl -H "traceparent: 00-$(openssl rand -hex 16)-$(openssl rand -hex 8)-01" …
            """)

    private let message: String
    private let files: [String]

    init(_ arguments: Arguments) throws(UsageError) {
        message = arguments.positional[0].lowercased()
        let given = arguments.list("log")
        files =
            given.isEmpty ? JourneyLogs.files(inState: SystemSettings.state(isSystemNamed: false) ?? ".parley") : given
        guard !files.isEmpty else { throw UsageError("there are no logs; name them with --log") }
    }

    @Reactor func run() async -> Int32 {
        var lines: [JourneyLine] = []
        for file in files {
            guard let read = JourneyLogs.read(file) else {
                Terminal.tell("parley: \(file) cannot be read")
                return 1
            }
            lines += read
        }
        let journey = JourneyLine.journey(of: message, in: lines)
        guard let first = journey.first else {
            Terminal.tell("parley: no log tells of that message; only sampled requests are traced")
            return 1
        }
        for line in journey { Terminal.say(line.text(since: first)) }
        return 0
    }
}
