import Bytes
import CommandSupport
import ParleyClient
import Reactor

/// Users who are connected and idle, as most are most of the time.
struct IdleScenario: Scenario {
    static let name = "idle"
    static let summary = "idle WebSockets: memory of each, and GET /healthz of fanout alone and beside them"
    static let options = [CommandDescription.Option("clients", "N", "how many (default 10,000)")]

    private let clients: Int

    private static let probes = 16

    init(_ arguments: Arguments) throws(UsageError) {
        clients = try arguments.integer("clients", in: 1...1_000_000) ?? 10_000
    }

    var connections: Int { clients + Self.probes }

    @Reactor func run(in world: LoadWorld) async throws(APIError) -> LoadReport {
        world.stage("asking /healthz alone")
        let alone = await probe(world, LoadMeter(), for: world.settings.duration)
        let before = fanouts(world)
        world.stage("connecting \(grouped(clients)) sessions")
        let users = world.makeUsers(clients)
        let start = MonotonicTime.now
        try await world.connect(users.map { ($0, []) })
        let seconds = (MonotonicTime.now - start).milliseconds / 1000
        await Reactor.sleep(for: world.settings.warmup)
        let after = fanouts(world)
        world.stage("asking /healthz beside them")
        world.meter.begin()
        world.processes.begin()
        let beside = await probe(world, world.meter, for: world.settings.duration)
        world.processes.finish()
        world.meter.finish()
        await ping(world)
        var report = world.report(of: Self.name, "\(grouped(clients)) idle WebSockets")
        report.add("connectionsPerSecond", "connected at", Double(clients) / max(seconds, 0.001), "/s")
        if let before, let after {
            report.add(
                "bytesPerConnection", "RSS of fanout each", Double(after - before) / Double(clients) / 1024, "KiB",
                decimals: 2)
        }
        report.add("healthzPerSecondAlone", "/healthz alone", alone, "/s")
        report.add("healthzPerSecond", "/healthz beside them", beside, "/s")
        report.add("reconnections", "reconnections", Double(world.reconnections))
        report.add("healthz", "/healthz beside them", world.meter.requests)
        (report.unit, report.units) = ("requests", world.meter.counts.responses)
        report.checked = "every connection answered a ping at the end"
        return report
    }

    /// - Returns: requests per second.
    @Reactor private func probe(_ world: LoadWorld, _ meter: LoadMeter, for duration: Duration) async -> Double {
        let endpoints = world.settings.connection.webSocket
        let traffic = RequestTraffic(endpoints, connections: Self.probes, pace: .inFlight(1), meter: meter) {
            _, host, buffer in
            buffer.append("GET /healthz HTTP/1.1\r\nHost: ")
            buffer.append(utf8: host.authority)
            buffer.append("\r\n\r\n")
        } check: { _, response in
            response.status == 200 ? nil : "status \(response.status)"
        }
        let isOwn = meter !== world.meter
        if isOwn { meter.begin() }
        let before = meter.counts.responses
        let start = MonotonicTime.now
        traffic.start()
        await Reactor.sleep(for: duration)
        let count = meter.counts.responses - before
        let seconds = (MonotonicTime.now - start).milliseconds / 1000
        await traffic.stop()
        world.complain(traffic.failures)
        return Double(count) / seconds
    }

    @Reactor private func fanouts(_ world: LoadWorld) -> Int? {
        let fanouts = world.processes.processes.read().filter { $0.name.hasPrefix("fanout") }
        return fanouts.isEmpty ? nil : fanouts.reduce(0) { $0 + $1.residentBytes }
    }

    /// Pings every connection. One that exists only in the kernel does not count.
    @Reactor private func ping(_ world: LoadWorld) async {
        for session in world.sessions { session.send { $0.append(#"{"type":"ping"}"# as StaticString) } }
        let start = MonotonicTime.now
        while MonotonicTime.now - start < world.settings.settle, world.sessions.contains(where: { $0.pongs == 0 }) {
            await Reactor.sleep(for: .milliseconds(20))
        }
        let silent = world.sessions.count { $0.pongs == 0 }
        if silent > 0 { world.complain("\(silent) connections did not answer a ping") }
    }
}
