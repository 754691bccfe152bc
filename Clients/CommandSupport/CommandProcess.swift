import Glibc
import Reactor

/// A process that does what the words behind its name say.
package enum CommandProcess {
    /// Calls `start` with the words of the command line. What cannot be done as asked is told to the terminal, and the exit
    /// status is 2.
    package static func main(_ start: (_ words: [String]) throws(UsageError) -> Void) {
        signal(SIGPIPE, SIG_IGN)
        do throws(UsageError) {
            try start(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Terminal.tell("parley: \(error.text)")
            exit(2)
        }
    }

    /// Runs a command with the words behind its name and ends the process with what it returns, or shows its help.
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
