import CommandSupport
import Glibc

/// parley: the command line for people at a terminal, and for playing real conversations through a system.
@main
enum Main {
    /// The commands in the order of the overview.
    static let commands: [Listed] = [
        .command(TokenCommand.self), .command(SendCommand.self), .command(TailCommand.self),
        .command(ChatCommand.self),
        .command(VerifyCommand.self), .command(ReplayCommand.self), .program(.load), .command(TraceCommand.self),
        .command(RestoreCommand.self), .command(ScrubCommand.self), .command(ImportCommand.self),
        .command(ExportCommand.self),
    ]

    enum Listed: Sendable {
        case command(any Command.Type)
        case program(CommandProgram)
    }

    static func main() { CommandProcess.main(start) }

    private static func start(_ words: [String]) throws(UsageError) {
        guard let name = words.first else {
            Terminal.tell(overview)
            exit(2)
        }
        if ["--help", "-h", "help"].contains(name) { return Terminal.say(overview) }
        let rest = Array(words.dropFirst())
        switch commands.first(where: { $0.name == name }) {
        case .command(let command): try CommandProcess.run(command, rest)
        case .program(let program): try SiblingExecutable(program.executable).replaceProcess(rest)
        case nil: throw UsageError("there is no command \"\(name)\"; see parley --help")
        }
    }

    private static var overview: String {
        let width = commands.map(\.name.count).max() ?? 0
        let lines = commands.map { command in
            "  \(command.name)\(String(repeating: " ", count: width - command.name.count))  \(command.summary)"
        }
        return """
            parley: messages from the command line.

            Usage: parley COMMAND [OPTIONS]

            \(lines.joined(separator: "\n"))

            parley COMMAND --help tells more about each.
            """
    }
}

extension Main.Listed {
    var name: String {
        switch self {
        case .command(let command): command.description.name
        case .program(let program): program.name
        }
    }

    var summary: String {
        switch self {
        case .command(let command): command.description.summary
        case .program(let program): program.summary
        }
    }
}
