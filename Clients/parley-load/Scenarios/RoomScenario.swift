import CommandSupport
import Models
import ParleyClient
import Reactor

/// A room with many members, all online, some of them writing.
struct RoomScenario: Scenario {
    static let name = "room"
    static let summary = "a room whose members are all online: deliveries/s, and how far fanout is behind"
    static let options =
        [
            CommandDescription.Option("members", "N", "of the room (default 100)"),
            CommandDescription.Option("senders", "N", "how many of them write (default 10)"),
            CommandDescription.Option("rooms", "N", "how many such rooms (default 1)"),
            CommandDescription.Option(
                "acks-only", nil,
                "closed loop: send the next message when one was acknowledged, not when all have it:\nfaster than fanout may be"
            ),
        ] + TrafficSettings.options

    private let rooms: Int
    private let members: Int
    private let senders: Int
    private let traffic: TrafficSettings
    private let waitsForArrivals: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        rooms = try arguments.integer("rooms", in: 1...10_000) ?? 1
        members = try arguments.integer("members", in: 2...ContractLimits.mostMembersPerConversation) ?? 100
        senders = min(members, try arguments.integer("senders", in: 1...10_000) ?? 10)
        traffic = try TrafficSettings(arguments)
        waitsForArrivals = !arguments.flag("acks-only")
    }

    var connections: Int { rooms * members + traffic.connections(of: rooms * senders) }

    @Reactor func run(in world: LoadWorld) async throws(APIError) -> LoadReport {
        world.stage("creating \(rooms == 1 ? "a room" : "\(rooms) rooms") of \(grouped(members)) members")
        let groups = (0..<rooms).map { _ in Array(world.makeUsers(members)) }
        let conversations = try await world.createGroups(groups)
        world.stage("connecting \(grouped(rooms * members)) sessions")
        try await world.connect(conversations.flatMap { room in room.members.map { ($0, [room]) } })
        var messaging = Messaging(in: world, traffic)
        for room in conversations {
            for user in room.members.prefix(senders) { messaging.addLane(user, in: room) }
        }
        if waitsForArrivals {
            messaging.traffic.waitForArrivals(in: world.conversations.count)
            world.onArrival = { [traffic = messaging.traffic] _, room, _, _ in traffic.arrived(in: room) }
        }
        var report = await messaging.run(
            Self.name, "\(rooms == 1 ? "a room" : "\(rooms) rooms") of \(grouped(members)), \(grouped(senders)) write")
        report.add("fanoutLag", "ack to receive (lag)", world.meter.fanoutLag)
        return report
    }
}
