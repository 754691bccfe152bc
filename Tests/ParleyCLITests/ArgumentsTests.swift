import Testing

@testable import CommandSupport
@testable import ParleyCLI
@testable import ParleyLoad

@Suite struct ArgumentsTests {
    private let command = CommandDescription(
        name: "try", summary: "Tries.", positional: ["FILE"],
        options: [.init("rate", "N", "how fast"), .init("http", "URL", "where"), .init("ordered", nil, "in order")])

    private func refusal(_ words: [String]) -> String? {
        do throws(UsageError) {
            _ = try Arguments(words, for: command)
            return nil
        } catch {
            return error.text
        }
    }

    @Test("options have their values behind them or behind an equals sign, and the last one stands")
    func values() throws {
        let arguments = try Arguments(["--rate", "5", "a.jsonl", "--ordered", "--rate=7"], for: command)
        #expect(try arguments.integer("rate", in: 1...10) == 7)
        #expect(arguments.flag("ordered"))
        #expect(arguments.positional == ["a.jsonl"])
        #expect(arguments.value("http") == nil)
    }

    @Test("a list comes from repeated options and from between commas")
    func lists() throws {
        let arguments = try Arguments(["--http", "a,b", "x", "--http=c"], for: command)
        #expect(arguments.list("http") == ["a", "b", "c"])
        #expect(arguments.list("rate") == [])
    }

    @Test("behind two hyphens everything is taken as it is")
    func verbatim() throws {
        #expect(try Arguments(["--", "--rate"], for: command).positional == ["--rate"])
    }

    @Test("what is not in the description is refused with a word on what to do")
    func refusals() {
        #expect(refusal(["f", "--speed", "1"]) == "there is no option --speed; see parley try --help")
        #expect(refusal(["f", "--rate"]) == "--rate needs a value")
        #expect(refusal(["f", "--ordered=1"]) == "--ordered takes no value")
        #expect(refusal([]) == "FILE is missing; see parley try --help")
        #expect(refusal(["f", "g"]) == "\"g\" is one word too many; see parley try --help")
    }

    @Test("a number outside its range is refused")
    func ranges() throws {
        let arguments = try Arguments(["f", "--rate", "11"], for: command)
        #expect(throws: UsageError("--rate must be a whole number from 1 to 10")) {
            try arguments.integer("rate", in: 1...10)
        }
    }

    @Test("every command has a name and a summary of its own")
    func commands() {
        let commands = ParleyCLI.Main.commands
        #expect(Set(commands.map(\.name)).isSuperset(of: ["token", "send", "tail", "replay", "load", "scrub"]))
        #expect(Set(commands.map(\.name)).count == commands.count)
        #expect(Set(commands.map(\.summary)).count == commands.count)
    }

    /// The descriptions of all commands, in any executable.
    private static let descriptions = ParleyCLI.Main.commands.map { listed in
        switch listed {
        case .command(let command): command.description
        case .program: LoadCommand.description
        }
    }

    @Test("every command tells its usage and all its options", arguments: descriptions)
    func help(command: CommandDescription) {
        #expect(command.help.contains("Usage: parley \(command.name)"))
        for option in command.options { #expect(command.help.contains("--\(option.name)")) }
    }
}
