import Models
import Reactor

/// How much each user may ask for: a token bucket per user, filled evenly, whose size is the burst.
///
/// A bucket that is full again is the same as none, so those are thrown away now and then: memory is bounded by the
/// users active within the time it takes to fill a bucket.
struct RateLimiter {
    struct Rate: Sendable {
        let perSecond: Int
        let burst: Int
    }

    private struct Bucket {
        /// What is left, in billionths of a request, when it was last looked at.
        var level: Int64
        var lookedAt: MonotonicTime
    }

    private static let unit: Int64 = 1_000_000_000

    private let rate: Rate
    private var buckets: [UserID: Bucket] = [:]
    private var cleaningSize = 4096

    init(_ rate: Rate) { self.rate = rate }

    var count: Int { buckets.count }

    /// Takes `cost` requests out of the bucket of `user`; false when there is not so much in it.
    mutating func admit(_ user: UserID, cost: Int = 1, at now: MonotonicTime) -> Bool {
        var level = buckets[user].map { self.level($0, at: now) } ?? capacity
        // Nothing costs more than a full bucket: otherwise a large batch could never pass.
        let price = min(Int64(cost) * Self.unit, capacity)
        let isAdmitted = level >= price
        if isAdmitted { level -= price }
        buckets[user] = Bucket(level: level, lookedAt: now)
        if buckets.count >= cleaningSize { clean(at: now) }
        return isAdmitted
    }

    private var capacity: Int64 { Int64(rate.burst) * Self.unit }

    private func level(_ bucket: Bucket, at now: MonotonicTime) -> Int64 {
        let (gained, overflow) = (now - bucket.lookedAt).nanoseconds.multipliedReportingOverflow(
            by: Int64(rate.perSecond))
        return overflow || gained >= capacity - bucket.level ? capacity : bucket.level + gained
    }

    /// Looks at all at once, and next when there are twice as many: the cost per request stays constant.
    private mutating func clean(at now: MonotonicTime) {
        buckets = buckets.filter { level($0.value, at: now) < capacity }
        cleaningSize = max(4096, buckets.count * 2)
    }
}
