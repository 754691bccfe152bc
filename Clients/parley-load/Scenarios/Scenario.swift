import CommandSupport
import ParleyClient
import Reactor

/// A kind of chat use, as a load.
protocol Scenario: Sendable {
    static var name: String { get }
    static var summary: String { get }
    /// The options in addition to those of all scenarios.
    static var options: [CommandDescription.Option] { get }

    init(_ arguments: Arguments) throws(UsageError)

    /// The maximum number of WebSockets and HTTP connections that it opens.
    var connections: Int { get }

    /// Runs the scenario. Throws if it could not start.
    @Reactor func run(in world: LoadWorld) async throws(APIError) -> LoadReport
}

extension LoadWorld {
    /// Waits for the warm-up, then measures.
    func measure() async {
        stage("warming up")
        await Reactor.sleep(for: settings.warmup)
        stage("measuring")
        meter.begin()
        processes.begin()
        await Reactor.sleep(for: settings.duration)
        processes.finish()
        meter.finish()
    }

    /// Waits until the database is nearly idle, for scenarios that write before they measure, because the search index
    /// is filled after the writes. Returns at once if the database's process is unknown.
    func awaitRest() async {
        stage("waiting until the database is at rest")
        let start = MonotonicTime.now
        var seconds = databaseSeconds
        while let before = seconds, MonotonicTime.now - start < Self.longestWaitForRest {
            await Reactor.sleep(for: .seconds(1))
            seconds = databaseSeconds
            if let now = seconds, now - before < Self.restingShare { return }
        }
    }

    private static let longestWaitForRest = Duration.seconds(60)
    /// The share of one processor that counts as idle.
    private static let restingShare = 0.05

    private var databaseSeconds: Double? {
        processes.processes.reading(of: SystemProcesses.database)?.cpuSeconds
    }

    func report(of scenario: String, _ description: String) -> LoadReport {
        LoadReport(
            scenario: scenario, run: settings.runName, description: description, seconds: meter.seconds,
            usage: processes.usage, mismatches: mismatches)
    }
}
