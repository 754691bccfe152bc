import Bus
import Postgres
import Reactor
import ServiceKit
import Slots

/// The store service: commits commands in batches, assigns `seq`, answers queries and announces changes.
///
/// Listens to commands and queries of ingest, receipt, fanout and stores for the slots it owns. Publishes responses,
/// changes, private changes and digests. `store migrate` updates the database schema to this build. `store restored`
/// marks a database as restored from a backup. `store statement NAME…` prints statements as PostgreSQL receives
/// them, with `--slot SLOT` on Citus; `store placement` prints where the slots are.
@main
enum Main {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        var environment = Environment.process
        switch arguments.first {
        case "migrate":
            Schema.migrator.runAsCommand(
                databaseURL: environment.optionalString("PARLEY_DATABASE_URL"), arguments: arguments.dropFirst())
        case "restored": RestoredCommand.run(databaseURL: environment.optionalString("PARLEY_DATABASE_URL"))
        case "statement":
            PlacementCommand.runStatement(
                Writer.statements + Queries.statements + Search.statements + SearchIndex.statements,
                arguments: arguments.dropFirst(), databaseURL: environment.optionalString("PARLEY_DATABASE_URL"))
        case "placement": PlacementCommand.run(databaseURL: environment.optionalString("PARLEY_DATABASE_URL"))
        default: break
        }
        Service.run("store", configuredBy: StoreConfiguration.init, start: start)
    }

    @Reactor private static func start(_ service: Service, _ configuration: StoreConfiguration) throws {
        let isDistributed = try Schema.migrator.requireVersion(
            ofDatabaseAt: configuration.databaseURL, orDistributed: true)
        try PublishedView.require(Publications.receipt, ofDatabaseAt: configuration.databaseURL)
        let placement = isDistributed ? try Placement.toServe(ofDatabaseAt: configuration.databaseURL) : nil
        let bus = try service.openBus(configuration.bus)
        bus.receivesOwnFrames = true  // An erasure may ask for steps on slots of this very store.
        if let placement {
            var configuration = configuration
            configuration.borrowing = try Borrowing(placement, ofDatabaseAt: configuration.databaseURL)
            let store = ShardedStore(placement, configuration, bus: bus, log: service.log)
            service.drain.add("finish what is in flight") { await store.finish() }
            service.drain.add("give the slots away") { await store.drain() }
            try serve(store.services, of: service, at: configuration.listen, bus)
            store.start()
        } else {
            let store = StoreService(configuration, bus: bus, log: service.log)
            service.drain.add("finish what is in flight") { await store.finish() }
            service.drain.add("give the slots away") { await store.slots.drain() }
            try serve([store], of: service, at: configuration.listen, bus)
            store.start()
        }
    }

    @Reactor private static func serve(
        _ services: [StoreService], of service: Service, at address: ListenAddress, _ bus: Bus
    ) throws {
        StoreMetrics.addHealth(of: services, to: service.health)
        StoreMetrics.add(of: services, to: service.metrics)
        service.drain.add("close the bus") { bus.close() }
        try service.serveAdministration(at: address)
    }
}
