import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// store: commits commands in batches, assigns `seq`, answers queries, announces changes.
///
/// Listens to commands and queries of ingest, receipt and fanout for the slots it owns; publishes answers, changes,
/// private changes and digests. `store migrate` brings the schema of the database up to this build.
@main
enum Main {
    static func main() {
        if CommandLine.arguments.dropFirst().first == "migrate" {
            var environment = Environment.process
            Schema.migrator.runAsCommand(databaseURL: environment.optionalString("PARLEY_DATABASE_URL"))
        }
        Service.run("store", configuredBy: StoreConfiguration.init, start: start)
    }

    @Reactor private static func start(_ service: Service, _ configuration: StoreConfiguration) throws {
        try Schema.migrator.requireVersion(ofDatabaseAt: configuration.databaseURL)
        let bus = try service.openBus(configuration.bus)
        let writing = Connection(configuration.writer)
        let slots = OwnedSlots(bus, .store, connection: writing, schema: Schema.name, lockClass: Schema.slotLocks)
        let queries = Queries(Connection(configuration.queries), bus: bus, log: service.log)
        let announcer = Announcer(bus: bus, slots: slots)
        let writer = Writer(
            writing, bus: bus,
            outcomes: CommandOutcomes(bus: bus, announcer: announcer, queries: queries), log: service.log)
        let store = StoreService(bus: bus, writer: writer, queries: queries, slots: slots)

        service.health.require("writer connection") { writer.connection.isUp ? nil : "not connected to the database" }
        service.health.require("query connection") { queries.connection.isUp ? nil : "not connected to the database" }
        store.addMetrics(to: service.metrics)
        service.health.require("slots") { slots.count > 0 ? nil : "owns no slot yet" }
        service.drain.add("finish what is in work") { await store.finish() }
        service.drain.add("give the slots away") { await slots.drain() }
        service.drain.add("close the bus") { bus.close() }
        try service.serveAdministration(at: configuration.listen)
        store.start()
    }
}
