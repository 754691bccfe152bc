import CommandSupport
import ParleyClient
import Reactor

/// All users reconnect at once, as after a network fault, and have missed something.
struct ReconnectScenario: Scenario {
    static let name = "reconnect"
    static let summary = "a storm of clients that resume from their cursors, and have missed messages"
    static let options = [
        CommandDescription.Option("clients", "N", "how many (default 10,000)"),
        CommandDescription.Option("missed", "N", "messages that each has missed (default 5)"),
        CommandDescription.Option("at-once", "N", "how many connect at the same time (default: all)"),
    ]

    private let pairs: Int
    private let missed: Int
    private let atOnce: Int

    init(_ arguments: Arguments) throws(UsageError) {
        pairs = ((try arguments.integer("clients", in: 2...1_000_000) ?? 10_000) + 1) / 2
        missed = try arguments.integer("missed", in: 0...100_000) ?? 5
        atOnce = try arguments.integer("at-once", in: 1...1_000_000) ?? .max
    }

    var connections: Int { 2 * pairs }

    @Reactor func run(in world: LoadWorld) async throws(APIError) -> LoadReport {
        world.stage("creating \(grouped(pairs)) direct conversations")
        let users = world.makeUsers(2 * pairs)
        let conversations = try await world.createPairs((0..<pairs).map { (users[2 * $0], users[2 * $0 + 1]) })
        world.stage("connecting \(grouped(users.count)) sessions")
        try await world.connect(conversations.flatMap { pair in pair.members.map { ($0, [pair]) } })
        world.stage("disconnecting all, and sending what they miss")
        for session in world.sessions { session.drop() }
        if missed > 0 { try await world.sendBacklog(missed, in: conversations) }
        await world.awaitRest()
        await Reactor.sleep(for: world.settings.warmup)
        let seconds = try await storm(world)
        let messages = await world.compareHistories()
        var report = world.report(of: Self.name, "\(grouped(users.count)) clients, \(missed) messages missed by each")
        report.add("resumedSeconds", "all resumed after", seconds, "s", decimals: 2)
        report.add("clientsPerSecond", "clients", Double(users.count) / max(seconds, 0.001), "/s")
        report.add("reloads", "reloads", Double(world.reloads))
        report.add("reconnections", "further reconnections", Double(world.reconnections))
        report.add("connectToWelcome", "connect to welcome", world.meter.requests)
        (report.unit, report.units) = ("clients", users.count)
        report.checked = "\(grouped(messages)) messages read back; every client got what it missed, once and in order"
        return report
    }

    /// - Returns: the seconds until all had what they had missed.
    @Reactor private func storm(_ world: LoadWorld) async throws(APIError) -> Double {
        world.stage("connecting all at once")
        world.meter.begin()
        world.processes.begin()
        let start = MonotonicTime.now
        try await world.start(world.sessions, atOnce: atOnce, within: .seconds(300))
        while world.sessions.contains(where: { !$0.isCaughtUp }), MonotonicTime.now - start < .seconds(300) {
            await Reactor.sleep(for: .milliseconds(2))
        }
        world.processes.finish()
        world.meter.finish()
        await world.compareArrivals()
        return world.meter.seconds
    }
}
