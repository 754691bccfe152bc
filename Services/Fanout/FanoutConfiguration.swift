import Edge
import ServiceKit

/// The configuration of a fanout, from its environment.
struct FanoutConfiguration: Sendable {
    let listen: ListenAddress
    let bus: BusConfiguration
    let tokens: TokenVerifier
    let limits: ServerLimits
    let sessions: SessionLimits
    let unauthenticatedBytes: Int

    /// The default memory for all unauthenticated connections together, in bytes.
    static let unauthenticatedBytes = 16 << 20

    init(environment: inout Environment) throws(ConfigurationError) {
        listen = try environment.address("PARLEY_LISTEN", default: "0.0.0.0:8081")
        bus = try BusConfiguration(.fanout, environment: &environment)
        tokens = try TokenVerifier(environment: &environment)
        sessions = try SessionLimits(environment: &environment)
        // A smaller value could not hold a complete hello.
        unauthenticatedBytes = try environment.integer(
            "PARLEY_STRANGER_BYTES", default: Self.unauthenticatedBytes, in: 2 << 20...1 << 40)
        limits = try ServerLimits(environment: &environment)
    }
}
