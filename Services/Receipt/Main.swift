import Bus
import Postgres
import Reactor
import ServiceKit
import Slots

/// receipt: merges delivered and read signals into horizons, keeps their history, announces coalesced status.
///
/// Listens to signals and queries of ingest, fanout and store for the slots it owns. Publishes responses, status and
/// digests. `receipt migrate` brings the schema of the database up to this build; `receipt statement
/// NAME` prints a statement.
@main
enum Main {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        var environment = Environment.process
        switch arguments.first {
        case "migrate":
            Schema.migrator.runAsCommand(
                databaseURL: environment.optionalString("PARLEY_DATABASE_URL"), arguments: arguments.dropFirst())
        case "statement":
            PlacementCommand.runStatement(
                ReceiptConfiguration.statements, arguments: arguments.dropFirst(),
                databaseURL: environment.optionalString("PARLEY_DATABASE_URL"))
        default: Service.run("receipt", configuredBy: ReceiptConfiguration.init, start: start)
        }
    }

    @Reactor private static func start(_ service: Service, _ configuration: ReceiptConfiguration) throws {
        let isDistributed = try Schema.migrator.requireVersion(
            ofDatabaseAt: configuration.databaseURL, orDistributed: true)
        try PublishedView.require(Publications.store, ofDatabaseAt: configuration.databaseURL)
        let placement = isDistributed ? try Placement.toServe(ofDatabaseAt: configuration.databaseURL) : nil
        let bus = try service.openBus(configuration.bus)
        if let placement {
            let receipt = ShardedReceipt(placement, configuration, bus: bus, log: service.log)
            service.drain.add("finish what is in flight") { await receipt.finish() }
            service.drain.add("give the slots away") { await receipt.drain() }
            try serve(receipt.services, of: service, at: configuration.listen, bus)
            receipt.start()
        } else {
            let receipt = ReceiptService(configuration, bus: bus, log: service.log)
            service.drain.add("finish what is in flight") { await receipt.finish() }
            service.drain.add("give the slots away") { await receipt.slots.drain() }
            try serve([receipt], of: service, at: configuration.listen, bus)
            receipt.start()
        }
    }

    @Reactor private static func serve(
        _ services: [ReceiptService], of service: Service, at address: ListenAddress, _ bus: Bus
    ) throws {
        ReceiptMetrics.addHealth(of: services, to: service.health)
        ReceiptMetrics.add(of: services, to: service.metrics)
        service.drain.add("close the bus") { bus.close() }
        try service.serveAdministration(at: address)
    }
}
