import CommandSupport
import ParleyClient
import Reactor

/// Pairs of users who write to each other, both online.
struct PairsScenario: Scenario {
    static let name = "pairs"
    static let summary = "direct conversations: one writes, both are online"
    static let options =
        [
            CommandDescription.Option("pairs", "N", "how many direct conversations (default 100)"),
            CommandDescription.Option("online", "N", "how many of them have their two sessions (default: all)"),
        ] + TrafficSettings.options

    private let pairs: Int
    private let online: Int
    private let traffic: TrafficSettings

    init(_ arguments: Arguments) throws(UsageError) {
        pairs = try arguments.integer("pairs", in: 1...100_000) ?? 100
        online = min(pairs, try arguments.integer("online", in: 0...100_000) ?? pairs)
        traffic = try TrafficSettings(arguments)
    }

    var connections: Int { 2 * online + traffic.connections(of: pairs) }

    @Reactor func run(in world: LoadWorld) async throws(APIError) -> LoadReport {
        world.stage("creating \(grouped(pairs)) direct conversations")
        let users = world.makeUsers(2 * pairs)
        let conversations = try await world.createPairs((0..<pairs).map { (users[2 * $0], users[2 * $0 + 1]) })
        world.stage("connecting \(grouped(2 * online)) sessions")
        try await world.connect(conversations.prefix(online).flatMap { pair in pair.members.map { ($0, [pair]) } })
        var messaging = Messaging(in: world, traffic)
        for pair in conversations { messaging.addLane(pair.members[0], in: pair) }
        return await messaging.run(Self.name, "\(grouped(pairs)) direct conversations")
    }
}
