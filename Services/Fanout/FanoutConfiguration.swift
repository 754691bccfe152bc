import Edge
import ServiceKit

/// What a fanout reads from its environment.
struct FanoutConfiguration: Sendable {
    let listen: ListenAddress
    let bus: BusConfiguration
    let tokens: TokenVerifier
    let limits: ServerLimits

    init(environment: inout Environment) throws(ConfigurationError) {
        listen = try environment.address("PARLEY_LISTEN", default: "0.0.0.0:8081")
        bus = try BusConfiguration(.fanout, environment: &environment)
        tokens = try TokenVerifier(environment: &environment)
        limits = try ServerLimits(environment: &environment)
    }
}
