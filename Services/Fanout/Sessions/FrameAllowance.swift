import Edge
import Reactor
import ServiceKit

/// How many frames a user may still send: a bucket that fills at a rate. What has been read is never refused, so it may be
/// overdrawn; then nothing is read until it is filled again.
struct FrameAllowance {
    private let limits: SessionLimits
    /// In frames.
    private var level: Double
    private var lookedAt: MonotonicTime

    init(_ limits: SessionLimits, at now: MonotonicTime) {
        self.limits = limits
        level = Double(limits.frameBurst)
        lookedAt = now
    }

    mutating func charge(_ frames: Double, at now: MonotonicTime) {
        refill(at: now)
        // Nobody waits longer than for a full bucket.
        level = max(level - frames, -Double(limits.frameBurst))
    }

    mutating func isFull(at now: MonotonicTime) -> Bool {
        refill(at: now)
        return level >= Double(limits.frameBurst)
    }

    /// How long to wait until it is no longer overdrawn; nil when it is not.
    mutating func debt(at now: MonotonicTime) -> Duration? {
        refill(at: now)
        guard level < 0 else { return nil }
        return .milliseconds(1 + Int64(-level * 1000 / Double(limits.framesPerSecond)))
    }

    private mutating func refill(at now: MonotonicTime) {
        let seconds = Double((now - lookedAt).nanoseconds) / 1e9
        level = min(level + seconds * Double(limits.framesPerSecond), Double(limits.frameBurst))
        lookedAt = now
    }
}

/// What frames cost, in frames.
enum FrameCost {
    /// A signature is checked. What the bootstrap behind it costs the store is bounded there, by turns; a client that loses
    /// its connection again and again is not to be turned away soon.
    static let auth = 2.0

    /// At most a quarter of what may come at once: the devices of a user with very many conversations are not to lock each
    /// other out.
    static func hello(bytes: Int, _ limits: SessionLimits) -> Double {
        min(auth + frame(bytes: bytes), Double(limits.frameBurst) / 4)
    }

    /// At least one frame, and another one for each KiB.
    static func frame(bytes: Int) -> Double { max(1, Double(bytes) / 1024) }

    static func receipts(_ items: Int) -> Double { 1 + Double(items) / Double(SessionLimits.receiptsPerFrame) }

    /// By those who are told: in a room of ten thousand one word of typing is as much work as a hundred frames.
    static func typing(audience: Int) -> Double { 1 + Double(audience) / 100 }
}
