import CLinux
import CommandSupport
import Glibc
import ParleyClient
import Reactor

/// `parley load`: puts load on a system, measures it, and checks that nothing was lost.
struct LoadCommand: Command {
    static let scenarios: [any Scenario.Type] = [
        PairsScenario.self, RoomScenario.self, IdleScenario.self, ReconnectScenario.self, HistoryScenario.self,
        ReceiptsScenario.self,
        DayScenario.self,
    ]

    static let description = CommandDescription(
        name: CommandProgram.load.name, summary: CommandProgram.load.summary, positional: ["SCENARIO"],
        options: options,
        details: """
            Scenarios and the options of each:
            \(scenarios.map(lines).joined(separator: "\n"))

            A run makes users and conversations of its own. Closed loop, the default: the next message is sent when one before
            was acknowledged. Open loop (--rate): messages are due at fixed times, and latency counts from then.
            Afterwards everything is compared: every message acknowledged, received once by every session of a member and
            in order, and there in the history. CPU and memory are those of the processes of PARLEY_STATE.
            The exit status is 0 when nothing differs, else 1.
            """)

    private let scenario: any Scenario
    private let settings: LoadSettings
    private let reportFile: String?

    init(_ arguments: Arguments) throws(UsageError) {
        let name = arguments.positional[0]
        guard let type = Self.scenarios.first(where: { $0.name == name }) else {
            throw UsageError(
                "there is no scenario \"\(name)\"; there are \(Self.scenarios.map { $0.name }.joined(separator: ", "))")
        }
        try Self.check(arguments.names, of: type)
        scenario = try type.init(arguments)
        settings = try LoadSettings(arguments)
        reportFile = arguments.value("json")
        try Self.allowDescriptors(scenario.connections)
    }

    @Reactor func run() async -> Int32 {
        let world = LoadWorld(settings)
        do throws(APIError) {
            let report = try await scenario.run(in: world)
            Terminal.say(report.table)
            if let reportFile { try TextFile.write(report.json + "\n", to: reportFile) }
            return report.mismatches.count == 0 ? 0 : 1
        } catch {
            Terminal.tell("parley: \(error)")
            return 1
        }
    }

    // MARK: Arguments

    /// The options of all scenarios, each once.
    private static var options: [CommandDescription.Option] {
        var options: [CommandDescription.Option] = []
        for option in scenarios.flatMap({ $0.options }) + LoadSettings.options
        where !options.contains(where: { $0.name == option.name }) { options.append(option) }
        return options
    }

    private static func lines(_ scenario: any Scenario.Type) -> String {
        let options = scenario.options.map { "--\($0.name)" }.joined(separator: " ")
        return "  \(scenario.name)\(String(repeating: " ", count: 10 - scenario.name.count)) \(scenario.summary)\n"
            + (options.isEmpty ? "" : "             \(options)")
    }

    private static func check(_ given: Set<String>, of scenario: any Scenario.Type) throws(UsageError) {
        let known = Set((scenario.options + LoadSettings.options).map(\.name))
        if let stray = given.subtracting(known).sorted().first {
            throw UsageError("--\(stray) means nothing to \(scenario.name); see parley load --help")
        }
    }

    /// Raises the limit of open files to what the run needs, as far as permitted.
    private static func allowDescriptors(_ connections: Int) throws(UsageError) {
        let needed = rlim_t(connections + 100)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = max(limit.rlim_cur, min(needed, limit.rlim_max))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur >= needed else {
            throw UsageError(
                "the run needs \(needed) open files, this process may have \(limit.rlim_max): raise it with ulimit -n, or ask for less"
            )
        }
    }
}
