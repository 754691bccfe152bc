import Glibc
import Reactor

/// parley: the command line for a person at a terminal, and for playing real conversations through a system.
@main
enum Main {
    static let commands: [any Command.Type] = [
        TokenCommand.self, SendCommand.self, TailCommand.self, VerifyCommand.self, ReplayCommand.self, LoadCommand.self,
        TraceCommand.self, RestoreCommand.self, ScrubCommand.self,
    ]

    static func main() {
        signal(SIGPIPE, SIG_IGN)
        let words = Array(CommandLine.arguments.dropFirst())
        do throws(UsageError) {
            try start(words)
        } catch {
            Terminal.tell("parley: \(error.text)")
            exit(2)
        }
    }

    private static func start(_ words: [String]) throws(UsageError) {
        guard let name = words.first else {
            Terminal.tell(overview)
            exit(2)
        }
        if ["--help", "-h", "help"].contains(name) { return Terminal.say(overview) }
        guard let command = commands.first(where: { $0.description.name == name }) else {
            throw UsageError("there is no command \"\(name)\"; see parley --help")
        }
        let rest = Array(words.dropFirst())
        if rest.contains("--help") || rest.contains("-h") { return Terminal.say(command.description.help) }
        run(try command.init(Arguments(rest, for: command.description)))
    }

    /// Runs `command` on the reactor and ends the process with what it returns.
    private static func run(_ command: any Command) -> Never {
        Reactor.spawn { exit(await command.run()) }
        Reactor.run()
        exit(0)
    }

    private static var overview: String {
        let width = commands.map { $0.description.name.count }.max() ?? 0
        let lines = commands.map { command in
            let name = command.description.name
            return "  \(name)\(String(repeating: " ", count: width - name.count))  \(command.description.summary)"
        }
        return """
            parley: messages from the command line.

            Usage: parley COMMAND [OPTIONS]

            \(lines.joined(separator: "\n"))

            parley COMMAND --help tells more about each.
            """
    }
}
