import Bus
import Edge
import Postgres
import Reactor
import ServiceKit
import Slots

/// media: takes uploads, keeps files, and sends them to those who may see a message that carries them.
///
/// Serves clients by HTTP. Asks stores over the bus who may read, and takes from them and from ingest what messages carry.
/// `media migrate` brings the schema of the database up to this build; `media collect` removes files of no
/// upload, `media copy` copies what is kept to another storage, and `media statement NAME` prints a statement.
@main
enum Main {
    static func main() {
        switch CommandLine.arguments.dropFirst().first {
        case "migrate":
            var environment = Environment.process
            Schema.migrator.runAsCommand(
                databaseURL: environment.optionalString("PARLEY_DATABASE_URL"),
                arguments: CommandLine.arguments.dropFirst(2))
        case "statement":
            var environment = Environment.process
            PlacementCommand.runStatement(
                MediaStatements.writing + MediaStatements.reading, arguments: CommandLine.arguments.dropFirst(2),
                databaseURL: environment.optionalString("PARLEY_DATABASE_URL"))
        case "copy": CopyCommand.run(CommandLine.arguments.dropFirst(2))
        case "collect": CollectCommand.run(CommandLine.arguments.dropFirst(2))
        default: Service.run("media", configuredBy: MediaConfiguration.init, start: start)
        }
    }

    @Reactor private static func start(_ service: Service, _ configuration: MediaConfiguration) throws {
        let isDistributed = try Schema.migrator.requireVersion(
            ofDatabaseAt: configuration.databaseURL, orDistributed: true)
        let placement = isDistributed ? try Placement.toServe(ofDatabaseAt: configuration.databaseURL) : nil
        try configuration.storage.prepare()
        let bus = try service.openBus(configuration.bus)
        let media = MediaService(service, configuration, placement, bus: bus)
        let server = Server(media, limits: configuration.serverLimits)
        service.addMetrics(of: server)
        media.addHealth(to: service.health)
        service.drain.add("finish requests") { await server.drain(deadline: .seconds(2)) }
        service.drain.add("keep what has arrived") { await media.finish() }
        service.drain.add("give the slots away") { await media.drain() }
        service.drain.add("close the bus") { bus.close() }
        media.start()
        try server.listen(at: configuration.listen.description)
    }
}
