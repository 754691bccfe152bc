import Edge
import ServiceKit

/// The configuration of ingest, read from its environment.
struct IngestConfiguration: Sendable {
    let listen: ListenAddress
    let bus: BusConfiguration
    let tokens: TokenVerifier
    let limits: ClientLimits
    let web: WebConfiguration
    let user: UserLimit
    let load: LoadLimit

    /// How long to wait for a store's response before the client gets 503. Longer than it takes to replace a store.
    let deadline: Duration
    let serverLimits: ServerLimits
    /// Whether what administrators send for users is in the audit log, too.
    let auditsSends: Bool
    /// Nil: the application is not asked about messages.
    let messageHook: HookConfiguration?
    /// Nil: the application is not asked about members.
    let consentHook: HookConfiguration?

    init(environment: inout Environment) throws(ConfigurationError) {
        listen = try environment.address("PARLEY_LISTEN", default: "0.0.0.0:8080")
        bus = try BusConfiguration(.ingest, environment: &environment)
        tokens = try TokenVerifier(environment: &environment)
        web = try WebConfiguration(environment: &environment)
        var limits = try ClientLimits(environment: &environment)
        limits.socketURL = web.socketURL
        self.limits = limits
        load = try LoadLimit(environment: &environment, batchBytes: limits.batchBytes)
        user = try UserLimit(environment: &environment, load)
        deadline = try environment.duration("PARLEY_REQUEST_DEADLINE", default: .seconds(5))
        serverLimits = try ServerLimits(environment: &environment)
        auditsSends = try environment.flag("PARLEY_AUDIT_SENDS", default: false)
        messageHook = try .ofMessages(&environment)
        consentHook = try .ofMembers(&environment, limits.messageRequests)
    }
}

extension LoadLimit {
    fileprivate init(environment: inout Environment, batchBytes: Int) throws(ConfigurationError) {
        requests = try environment.integer("PARLEY_REQUESTS_IN_FLIGHT", default: 10_000, in: 1...60_000)
        bytes = try environment.integer("PARLEY_BYTES_IN_FLIGHT", default: 64 << 20, in: 1 << 20...1 << 32)
        arrivingBytes = max(bytes / 2, batchBytes)
    }
}

extension UserLimit {
    /// By default a tenth of the process's limit, so that a few abusive users leave room for all others; of bytes less,
    /// because a store writes other users' messages after theirs.
    fileprivate init(environment: inout Environment, _ load: LoadLimit) throws(ConfigurationError) {
        rate = TokenBucket.Rate(
            perSecond: try environment.integer("PARLEY_RATE_PER_SECOND", default: 2000, in: 1...1_000_000),
            burst: try environment.integer("PARLEY_RATE_BURST", default: 5000, in: 1...1_000_000))
        costInFlight = try environment.integer(
            "PARLEY_USER_COST_IN_FLIGHT", default: max(100, load.requests / 10), in: 1...1_000_000)
        bytesInFlight = try environment.integer(
            "PARLEY_USER_BYTES_IN_FLIGHT", default: max(1 << 20, load.bytes / 64), in: 1 << 16...1 << 32)
    }
}
