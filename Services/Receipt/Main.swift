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
        try Schema.migrator.requireVersion(ofDatabaseAt: configuration.databaseURL)
        try PublishedView.require(Publications.store, ofDatabaseAt: configuration.databaseURL)
        let bus = try service.openBus(configuration.bus)
        let receipt = ReceiptService(configuration, bus: bus, log: service.log)
        receipt.addHealth(to: service.health)
        receipt.addMetrics(to: service.metrics)
        service.drain.add("finish what is in flight") { await receipt.finish() }
        service.drain.add("give the slots away") { await receipt.slots.drain() }
        service.drain.add("close the bus") { bus.close() }
        try service.serveAdministration(at: configuration.listen)
        receipt.start()
    }
}
