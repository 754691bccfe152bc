import Edge
import Glibc
import Reactor

/// The parts common to every service: name, log, metrics, health and drain. A service's main looks like this:
///
/// ```
/// @main
/// enum Main {
///     static func main() {
///         Service.run("store", configuredBy: StoreConfiguration.init) { service, configuration in
///             let store = try await MessageStore(configuration, log: service.log, metrics: service.metrics)
///             service.health.require("database") { store.isConnected ? nil : "not connected" }
///             service.drain.add("finish commits") { await store.finish() }
///             try service.serveAdministration(at: configuration.listen)
///         }
///     }
/// }
/// ```
@Reactor
public final class Service {
    public nonisolated let name: String
    public nonisolated let instance: Int
    public nonisolated let log: Log
    public let metrics = Metrics()
    public let health = Health()
    public let drain: Drain
    var administration: (server: Server, handler: AdministrationHandler)?
    /// The service of this process. This is its only strong reference: the objects that `start` creates refer to it
    /// unowned.
    private static var running: Service?

    init(_ settings: ServiceSettings, log: Log) {
        name = settings.name
        instance = settings.instance
        self.log = log
        drain = Drain(limit: settings.drainLimit, log: log)
        metrics.addProcessMetrics(service: name, instance: instance)
        health.require("draining") { [drain] in drain.hasBegun ? "the process is ending" : nil }
    }

    /// Decodes the configuration, starts the service on the reactor and runs it until a signal. Exits with 0 after a
    /// drain, and with 1 when the service cannot start: the last line of the log gives the reason. With the argument
    /// `health` it runs `HealthCommand` instead.
    public nonisolated static func run<Configuration: Sendable>(
        _ name: String,
        configuredBy decode: (inout Environment) throws(ConfigurationError) -> Configuration,
        start: @escaping @Reactor @Sendable (Service, Configuration) async throws -> Void
    ) -> Never {
        if CommandLine.arguments.dropFirst().first == "health" { HealthCommand.run() }
        HeapSettings.keepMemoryBetweenBatches()
        prepareSignals()
        let (settings, configuration, log) = configure(name, decode)
        Reactor.spawn { await begin(settings, configuration, log, start) }
        Reactor.run()
        log.info("stopped")
        exit(0)
    }

    private nonisolated static func prepareSignals() {
        // Writing to a closed connection must fail with EPIPE, not end the process.
        signal(SIGPIPE, SIG_IGN)
        // Blocked before a second thread exists, which would inherit the unblocked mask and be killed by them. The
        // reactor reads them from a descriptor.
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, SIGTERM)
        sigaddset(&mask, SIGINT)
        pthread_sigmask(SIG_BLOCK, &mask, nil)
    }

    private nonisolated static func configure<Configuration>(
        _ name: String, _ decode: (inout Environment) throws(ConfigurationError) -> Configuration
    ) -> (ServiceSettings, Configuration, Log) {
        var environment = Environment.process
        do throws(ConfigurationError) {
            let settings = try ServiceSettings(name: name, environment: &environment)
            let configuration = try decode(&environment)
            let log = Log(service: name, instance: settings.instance, level: settings.logLevel)
            log.info("starting", environment.summary.map { LogField($0.name, $0.value) })
            return (settings, configuration, log)
        } catch {
            Log(service: name).error("configuration refused", [LogField("reason", describing: error)])
            exit(1)
        }
    }

    private static func begin<Configuration: Sendable>(
        _ settings: ServiceSettings, _ configuration: Configuration, _ log: Log,
        _ start: @Reactor (Service, Configuration) async throws -> Void
    ) async {
        let service = Service(settings, log: log)
        running = service
        service.drain.beginOnSignals()
        do {
            try await start(service, configuration)
            log.info("started")
        } catch {
            log.error("cannot start", [LogField("reason", describing: error)])
            exit(1)
        }
    }
}
