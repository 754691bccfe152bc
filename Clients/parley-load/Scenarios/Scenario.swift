import CommandSupport
import ParleyClient
import Reactor

/// Something that people do with a chat, as a load.
protocol Scenario: Sendable {
    static var name: String { get }
    static var summary: String { get }
    /// Beside those of all scenarios.
    static var options: [CommandDescription.Option] { get }

    init(_ arguments: Arguments) throws(UsageError)

    /// How many WebSockets and HTTP connections it opens, at most.
    var connections: Int { get }

    /// Throws when it could not even begin.
    @Reactor func run(in world: LoadWorld) async throws(APIError) -> LoadReport
}

extension LoadWorld {
    /// Lets things run for the time of the warm-up, then measures them.
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

    /// Waits until the database has next to nothing to do, for scenarios that write before they measure: the index of the
    /// search is filled behind the writes. At once where its process is not known.
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
    /// Of one processor.
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
