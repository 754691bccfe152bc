import CommandSupport
import ParleyClient
import Reactor

/// Users who read their messages and report it: receipts in addition to messages.
struct ReceiptsScenario: Scenario {
    static let name = "receipts"
    static let summary = "read receipts, stored and told, beside messages of the same conversations"
    static let options =
        [
            CommandDescription.Option("pairs", "N", "how many direct conversations (default 100)"),
            CommandDescription.Option("backlog", "N", "unread messages of each, to be read one by one (default 100)"),
        ] + TrafficSettings.options

    private let pairs: Int
    private let backlog: Int
    private let traffic: TrafficSettings

    init(_ arguments: Arguments) throws(UsageError) {
        pairs = try arguments.integer("pairs", in: 1...100_000) ?? 100
        backlog = try arguments.integer("backlog", in: 0...1_000_000) ?? 100
        traffic = try TrafficSettings(arguments)
    }

    var connections: Int { 2 * pairs + traffic.connections(of: pairs) }

    @Reactor func run(in world: LoadWorld) async throws(APIError) -> LoadReport {
        world.stage("creating \(grouped(pairs)) direct conversations with \(grouped(backlog)) unread messages each")
        let users = world.makeUsers(2 * pairs)
        let conversations = try await world.createPairs((0..<pairs).map { (users[2 * $0], users[2 * $0 + 1]) })
        if backlog > 0 { try await world.sendBacklog(backlog, in: conversations) }
        world.stage("connecting \(grouped(users.count)) sessions")
        try await world.connect(conversations.flatMap { pair in pair.members.map { ($0, [pair]) } })
        var messaging = Messaging(in: world, traffic)
        for pair in conversations { messaging.addLane(pair.members[0], in: pair) }
        let readers = Readers(world, backlog: backlog)
        readers.start()
        await messaging.measure()
        await readers.finish()
        try await readers.compare()
        let messages = await world.compareHistories()
        var report = messaging.report(Self.name, "\(grouped(pairs)) direct conversations", readBack: messages)
        let counts = world.meter.counts
        report.addRate("signalsPerSecond", "receipts sent", counts.signals)
        report.addRate("storedReceiptsPerSecond", "receipts stored", Int(world.meter.signalToStatus.count))
        report.addRate("statusFramesPerSecond", "status frames", counts.statusFrames)
        report.add("signalToStatus", "receipt to status", world.meter.signalToStatus)
        (report.unit, report.units) = ("messages+receipts", counts.acknowledged + counts.signals)
        report.checked += "; every member has read to the end"
        return report
    }
}
