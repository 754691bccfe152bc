/// What one user may take of a fanout with all their sessions on it together. `fanout` enforces these limits and `ingest`
/// tells them at `GET /v1/limits`; both read the same variables, which are written down here once.
public struct SessionLimits: Sendable {
    /// Open sessions on one process. One more takes the place of the oldest, which ends with `superseded`.
    public var sessions = 100
    /// Places of the user's sessions in conversations, all together: some 100 bytes each. Beyond them the oldest session
    /// ends with `superseded`.
    public var places = 200_000
    /// Frames that are read from the user, on average. Beyond it the client is not refused but waits: nothing is read from
    /// it until it is in time again.
    public var framesPerSecond = 100
    /// Frames that may come at once.
    public var frameBurst = 1_000

    /// So many items of `delivered` and `read` count as one frame.
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
