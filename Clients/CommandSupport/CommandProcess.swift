import Glibc
import Reactor

/// A process that runs one command line.
package enum CommandProcess {
    /// Calls `start` with the words of the command line. A usage error is printed to the terminal, and the exit status
    /// is 2.
    package static func main(_ start: (_ words: [String]) throws(UsageError) -> Void) {
        signal(SIGPIPE, SIG_IGN)
        do throws(UsageError) {
            try start(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Terminal.tell("parley: \(error.text)")
            exit(2)
        }
    }

    /// Runs a command with the words after its name and exits with its result, or prints its help.
    package static func run(_ command: any Command.Type, _ words: [String]) throws(UsageError) {
        if words.contains("--help") || words.contains("-h") { return Terminal.say(command.description.help) }
        run(try command.init(Arguments(words, for: command.description)))
    }

    private static func run(_ command: any Command) -> Never {
        Reactor.spawn { exit(await command.run()) }
        Reactor.run()
        exit(0)
    }
}
