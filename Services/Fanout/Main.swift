import Bus
import Edge
import Reactor
import ServiceKit

/// fanout: the WebSocket edge. Listens to changes, receipts and digests; fetches what was missed from `store` and
/// `receipt`; keeps no state but sessions.
@main
enum Main {
    static func main() {
        Service.run("fanout", configuredBy: FanoutConfiguration.init) { service, configuration in
            let bus = try service.openBus(configuration.bus)
            let fanout = Fanout(
                bus: bus, tokens: configuration.tokens, log: service.log,
                Fanout.Settings(
                    limits: configuration.sessions, unauthenticatedBytes: configuration.unauthenticatedBytes))
            fanout.addMetrics(to: service.metrics)
            fanout.addConditions(to: service.health)
            fanout.start()

            let server = Server(PublicRoutes(service), webSockets: fanout.gateway, limits: configuration.limits)
            service.addMetrics(of: server)
            try server.listen(at: configuration.listen.description)
            service.drain.add("close sessions") { await fanout.drain(server) }
            service.drain.add("close the bus") { bus.close() }
        }
    }
}
