import CommandSupport
import ParleyClient
import Reactor

/// A day of chat: everything that people do, in realistic proportions.
struct DayScenario: Scenario {
    static let name = "day"
    static let summary =
        "a mixture: chats, groups and a room; sending, reading, scrolling, tapbacks, edits, deletions, coming and going"
    static let options = [
        CommandDescription.Option("users", "N", "how many people (default 500)"),
        CommandDescription.Option("rate", "N", "things they do a second in all, open loop (default 500)"),
        CommandDescription.Option(
            "only", "THING",
            "every other thing is this one, the others are messages to a chat: "
                + DayAction.allCases.map(\.rawValue).joined(separator: ", ")),
    ]

    private let users: Int
    private let rate: Int
    private let mixture: DayMixture

    init(_ arguments: Arguments) throws(UsageError) {
        users = try arguments.integer("users", in: 10...100_000) ?? 500
        rate = try arguments.integer("rate", in: 1...100_000) ?? 500
        let only = arguments.value("only")
        let action = only.flatMap(DayAction.init(rawValue:))
        if let only, action == nil { throw UsageError("people do nothing that is called \"\(only)\"") }
        mixture = DayMixture(only: action)
    }

    var connections: Int { users + DayTraffic.connections }

    @Reactor func run(in world: LoadWorld) async throws(APIError) -> LoadReport {
        world.stage("creating the conversations of \(grouped(users)) people")
        let people = world.makeUsers(users)
        let plan = DayPlan(people: Array(people))
        let pairs = try await world.createPairs(plan.pairs)
        let groups = try await world.createGroups(plan.groups + [plan.room])
        var conversations: [Int: [LoadConversation]] = [:]
        for conversation in pairs + groups {
            for member in conversation.members { conversations[member, default: []].append(conversation) }
        }
        world.stage("connecting \(grouped(plan.online.count)) sessions")
        try await world.connect(plan.online.map { ($0, conversations[$0] ?? []) })
        let traffic = DayTraffic(world, pairs: pairs, groups: groups, mixture: mixture, rate: rate)
        traffic.start()
        await world.measure()
        await traffic.stop()
        try await traffic.learnPositions()
        await world.compareArrivals()
        let messages = await world.compareHistories(textsMayDiffer: true)
        return report(world, traffic, messages)
    }

    @Reactor private func report(_ world: LoadWorld, _ traffic: DayTraffic, _ messages: Int) -> LoadReport {
        let counts = world.meter.counts
        var report = world.report(
            of: Self.name, "\(grouped(users)) people, \(grouped(rate)) things a second, open loop")
        report.addRate("actionsPerSecond", "things done", counts.responses + counts.acknowledged)
        report.addRate("acknowledgedPerSecond", "messages acknowledged", counts.acknowledged)
        report.addRate("deliveriesPerSecond", "deliveries", counts.deliveries)
        report.addRate("signalsPerSecond", "receipts sent", counts.signals)
        report.addRate("statusFramesPerSecond", "status frames", counts.statusFrames)
        report.add("returns", "people who came back", Double(traffic.returns))
        report.add("typed", "people who typed", Double(traffic.typed))
        report.add("repeatedRequests", "repeated requests", Double(traffic.repetitions))
        report.add("reconnections", "connections lost", Double(world.reconnections))
        report.add("reloads", "reloads", Double(world.reloads))
        report.add("sendToAck", "send to ack", world.meter.sendToAck)
        report.add("sendToReceive", "send to receive", world.meter.sendToReceive)
        report.add("requests", "other requests", world.meter.requests)
        for action in DayAction.allCases {
            if let latency = traffic.latencies[action] { report.add(action.rawValue, action.rawValue, latency) }
        }
        (report.unit, report.units) = ("things", counts.responses + counts.acknowledged)
        report.checked =
            "\(grouped(messages)) messages read back; every change at \(grouped(world.sessions.count)) sessions, once and in order"
        return report
    }
}

/// The conversations of the users, and which users are online.
struct DayPlan {
    let pairs: [(Int, Int)]
    let groups: [[Int]]
    /// A tenth of the users, 500 at most.
    let room: [Int]
    /// Two out of five users.
    let online: [Int]

    /// Gives each user about four chats and about three groups of 3 to 30.
    init(people: [Int]) {
        let count = people.count
        pairs = [1, 7].flatMap { step in
            people.indices.compactMap { $0 + step < count ? (people[$0], people[$0 + step]) : nil }
        }
        groups = (0..<max(1, count / 5)).map { number in
            let size = min(count, 3 + number * 7 % 28)
            return (0..<size).map { people[(number * 5 + $0 * 11) % count] }
                .reduce(into: []) { members, person in if !members.contains(person) { members.append(person) } }
        }.filter { $0.count > 2 }
        room = Array(people.prefix(max(3, min(500, count / 10))))
        online = people.enumerated().filter { $0.offset % 5 < 2 }.map(\.element)
    }
}
