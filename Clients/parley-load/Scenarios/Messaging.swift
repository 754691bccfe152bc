import CommandSupport
import Reactor
import ReactorTransport

/// Common to scenarios in which users send each other messages: lanes, measurement, comparison and report.
@Reactor
struct Messaging {
    let world: LoadWorld
    let settings: TrafficSettings
    let traffic: MessageTraffic
    /// The connections shared by the lanes. Empty when each lane has its own.
    private var pool: [LoadConnection] = []
    private var lanes = 0

    init(in world: LoadWorld, _ settings: TrafficSettings) {
        self.world = world
        self.settings = settings
        traffic = MessageTraffic(run: world.settings.run, pace: settings.pace, meter: world.meter)
    }

    /// Adds a sender in a conversation.
    mutating func addLane(_ user: Int, in conversation: LoadConversation) {
        let endpoints = world.settings.connection.http
        let connections = connections(to: endpoints[lanes % endpoints.count])
        lanes += 1
        let template = SendTemplate(
            conversation.id, token: world.identity(user).token, host: connections[0].endpoint.authority,
            text: world.settings.text)
        traffic.add(.init(conversation, template, connections, limit: settings.limit))
    }

    private mutating func connections(to endpoint: Endpoint) -> [LoadConnection] {
        if let shared = settings.connections {
            if pool.count == shared { return [pool[lanes % shared]] }
            pool.append(LoadConnection(endpoint, owner: traffic))
            return [pool[pool.count - 1]]
        }
        return (0..<(settings.isPipelined ? 1 : settings.limit)).map { _ in LoadConnection(endpoint, owner: traffic) }
    }

    /// Runs the traffic, compares everything, and returns the report.
    func run(_ scenario: String, _ description: String) async -> LoadReport {
        await measure()
        let messages = await world.compareHistories()
        return report(scenario, description, readBack: messages)
    }

    func measure() async {
        traffic.start()
        await world.measure()
        traffic.stop()
        await traffic.drain(within: world.settings.settle)
        world.complain(traffic.failures)
        await world.compareArrivals()
    }

    func report(_ scenario: String, _ description: String, readBack: Int) -> LoadReport {
        let meter = world.meter
        var report = world.report(of: scenario, "\(description), \(settings.words)")
        report.addRate("acknowledgedPerSecond", "acknowledged", meter.counts.acknowledged)
        report.addRate("deliveriesPerSecond", "deliveries", meter.counts.deliveries)
        let messages = world.conversations.reduce(0) { $0 + $1.acknowledged.count }
        report.add("messages", "messages in all", Double(messages))
        let sessions = world.sessions.count
        report.add("sessions", "sessions", Double(sessions))
        report.add("repeatedRequests", "repeated requests", Double(traffic.repetitions))
        report.add("reconnections", "reconnections", Double(world.reconnections))
        report.add("reloads", "reloads", Double(world.reloads))
        report.add("sendToAck", "send to ack", meter.sendToAck)
        report.add("sendToReceive", "send to receive", meter.sendToReceive)
        report.units = meter.counts.acknowledged
        report.checked =
            "\(grouped(readBack)) messages read back; every arrival at \(grouped(sessions)) sessions, once and in order"
        return report
    }
}
