import Edge
import ServiceKit

/// What ingest reads from its environment.
struct IngestConfiguration: Sendable {
    let listen: ListenAddress
    let bus: BusConfiguration
    let tokens: TokenVerifier
    let limits: ClientLimits
    let rate: RateLimiter.Rate
    let load: LoadLimit

    /// How long the store has to answer before the client is told to repeat: longer than it takes to replace a store.
    let deadline: Duration
    let connections: Int

    init(environment: inout Environment) throws(ConfigurationError) {
        listen = try environment.address("PARLEY_LISTEN", default: "0.0.0.0:8080")
        bus = try BusConfiguration(.ingest, environment: &environment)
        tokens = try TokenVerifier(environment: &environment)
        limits = try ClientLimits(environment: &environment)
        rate = RateLimiter.Rate(
            perSecond: try environment.integer("PARLEY_RATE_PER_SECOND", default: 2000, in: 1...1_000_000),
            burst: try environment.integer("PARLEY_RATE_BURST", default: 10_000, in: 1...1_000_000))
        load = LoadLimit(
            requests: try environment.integer("PARLEY_REQUESTS_IN_FLIGHT", default: 10_000, in: 1...60_000),
            bytes: try environment.integer("PARLEY_BYTES_IN_FLIGHT", default: 64 << 20, in: 1 << 20...1 << 32))
        deadline = try environment.duration("PARLEY_REQUEST_DEADLINE", default: .seconds(5))
        connections = try environment.integer("PARLEY_CONNECTIONS", default: 20_000, in: 1...1_000_000)
    }

    var serverLimits: ServerLimits {
        var limits = ServerLimits()
        limits.connections = connections
        return limits
    }
}
