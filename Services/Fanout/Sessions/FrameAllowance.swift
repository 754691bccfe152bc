import Edge
import Reactor
import ServiceKit

/// How many frames a user may still send: a token bucket. A frame that has been read is never refused, so the bucket
/// may be overdrawn; then nothing is read until it is refilled.
struct FrameAllowance {
    private let limits: SessionLimits
    /// The fill level in frames.
    private var level: Double
    private var lookedAt: MonotonicTime

    init(_ limits: SessionLimits, at now: MonotonicTime) {
        self.limits = limits
        level = Double(limits.frameBurst)
        lookedAt = now
    }

    mutating func charge(_ frames: Double, at now: MonotonicTime) {
        refill(at: now)
        // Bounded, so that nobody waits for more than one full bucket.
        level = max(level - frames, -Double(limits.frameBurst))
    }

    mutating func isFull(at now: MonotonicTime) -> Bool {
        refill(at: now)
        return level >= Double(limits.frameBurst)
    }

    /// Returns how long to wait until the bucket is no longer overdrawn; nil when it is not.
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

/// The cost of client frames, in frames.
enum FrameCost {
    /// The check of a signature. The load of the bootstrap that follows is bounded in the store, by turns; a client
    /// that loses its connection repeatedly must not be locked out soon.
    static let auth = 2.0

    /// Returns the cost of a hello: at most a quarter of the burst, so that the devices of a user with very many
    /// conversations do not lock each other out.
    static func hello(bytes: Int, _ limits: SessionLimits) -> Double {
        min(auth + frame(bytes: bytes), Double(limits.frameBurst) / 4)
    }

    /// Returns one frame per KiB, and at least one.
    static func frame(bytes: Int) -> Double { max(1, Double(bytes) / 1024) }

    static func receipts(_ items: Int) -> Double { 1 + Double(items) / Double(SessionLimits.receiptsPerFrame) }

    /// Returns a cost by audience: in a room of ten thousand one typing frame is as much work as a hundred frames.
    static func typing(audience: Int) -> Double { 1 + Double(audience) / 100 }
}
