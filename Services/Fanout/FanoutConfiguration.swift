import Edge
import ServiceKit

/// What a fanout reads from its environment.
struct FanoutConfiguration: Sendable {
    let listen: ListenAddress
    let bus: BusConfiguration
    let tokens: TokenVerifier
    let limits: ServerLimits
    let sessions: SessionLimits
    let strangerBytes: Int

    /// Memory for what clients say before their token was seen, all together.
    static let strangerBytes = 16 << 20

    init(environment: inout Environment) throws(ConfigurationError) {
        listen = try environment.address("PARLEY_LISTEN", default: "0.0.0.0:8081")
        bus = try BusConfiguration(.fanout, environment: &environment)
        tokens = try TokenVerifier(environment: &environment)
        sessions = try SessionLimits(environment: &environment)
        // Less would hold no whole hello.
        strangerBytes = try environment.integer(
            "PARLEY_STRANGER_BYTES", default: Self.strangerBytes, in: 2 << 20...1 << 40)
        limits = try ServerLimits(environment: &environment)
    }
}
