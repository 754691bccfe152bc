/// The limits on all sessions of one user on one fanout together. `fanout` enforces them and `ingest` publishes them at
/// `GET /v1/limits`; both read the same variables, defined here.
public struct SessionLimits: Sendable {
    /// Open sessions on one process. A further session ends the oldest with `superseded`.
    public var sessions = 100
    /// The sum of the conversations of the user's sessions: about 100 bytes each. Beyond it the oldest session ends
    /// with `superseded`.
    public var conversations = 200_000
    /// The average rate of frames read from the user. A client above it is not refused but waits: nothing is read from
    /// it until it is below the rate again.
    public var framesPerSecond = 100
    /// Frames that may arrive at once.
    public var frameBurst = 1_000

    /// The number of items of `delivered` and `read` that count as one frame.
    public static let receiptsPerFrame = 10
    public var receiptsPerSecond: Int { framesPerSecond * Self.receiptsPerFrame }

    public var frameRate: TokenBucket.Rate { TokenBucket.Rate(perSecond: framesPerSecond, burst: frameBurst) }

    public init() {}

    public init(environment: inout Environment) throws(ConfigurationError) {
        sessions = try environment.integer("PARLEY_SESSIONS_PER_USER", default: sessions, in: 1...10_000)
        framesPerSecond = try environment.integer("PARLEY_FRAMES_PER_SECOND", default: framesPerSecond, in: 1...100_000)
        frameBurst = try environment.integer("PARLEY_FRAME_BURST", default: frameBurst, in: 10...1_000_000)
    }
}
