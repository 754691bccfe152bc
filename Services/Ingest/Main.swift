import Edge
import Reactor
import ServiceKit

/// ingest: the HTTP edge. Authenticates, validates and limits clients' requests, and forwards them to the stores.
///
/// Publishes commands and queries under their slots' topics; subscribes to responses.
@main
enum Main {
    static func main() {
        Service.run("ingest", configuredBy: IngestConfiguration.init, start: start)
    }

    @Reactor private static func start(_ service: Service, _ configuration: IngestConfiguration) throws {
        let bus = try service.openBus(configuration.bus)
        let ingest = IngestService(service, configuration, bus: bus)
        let server = Server(ingest, limits: configuration.serverLimits)

        service.addMetrics(of: server)
        service.health.require("bus") { bus.connectedEndpoints.isEmpty ? "no store is connected" : nil }
        service.health.require("erased users") {
            ingest.erased.isComplete ? nil : "the list of erased users is not loaded yet"
        }
        service.health.require("revoked tokens") {
            ingest.revoked.isComplete ? nil : "the list of revoked tokens is not loaded yet"
        }
        ingest.start()
        service.drain.add("finish requests") { await server.drain(deadline: configuration.deadline) }
        service.drain.add("close the bus") { bus.close() }
        try server.listen(at: configuration.listen.description)
    }
}
