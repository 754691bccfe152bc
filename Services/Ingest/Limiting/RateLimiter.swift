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

        /// Of a bucket, in billionths of a request.
        fileprivate var capacity: Int64 { Int64(burst) * RateLimiter.unit }
    }

    private struct Bucket {
        /// What is left, in billionths of a request, when it was last looked at.
        var level: Int64
        var lookedAt: MonotonicTime

        func level(_ rate: Rate, at now: MonotonicTime) -> Int64 {
            let (gained, overflow) = (now - lookedAt).nanoseconds.multipliedReportingOverflow(by: Int64(rate.perSecond))
            return overflow || gained >= rate.capacity - level ? rate.capacity : level + gained
        }

        /// False when there is not so much in it.
        mutating func take(_ price: Int64, _ rate: Rate, at now: MonotonicTime) -> Bool {
            level = level(rate, at: now)
            lookedAt = now
            guard level >= price else { return false }
            level -= price
            return true
        }
    }

    fileprivate static let unit: Int64 = 1_000_000_000

    private let rate: Rate
    private var buckets: [UserID: Bucket] = [:]
    private var cleaningSize = 4096

    init(_ rate: Rate) { self.rate = rate }

    var count: Int { buckets.count }

    /// Takes `cost` requests out of the bucket of `user`; false when there is not so much in it.
    mutating func admit(_ user: UserID, cost: Int = 1, at now: MonotonicTime) -> Bool {
        // Nothing costs more than a full bucket: otherwise a large batch could never pass.
        let price = min(Int64(cost) * Self.unit, rate.capacity)
        let isAdmitted = buckets[user, default: Bucket(level: rate.capacity, lookedAt: now)].take(price, rate, at: now)
        if buckets.count >= cleaningSize { clean(at: now) }
        return isAdmitted
    }

    /// Looks at all at once, and next when there are twice as many: the cost per request stays constant.
    private mutating func clean(at now: MonotonicTime) {
        buckets = buckets.filter { $0.value.level(rate, at: now) < rate.capacity }
        cleaningSize = max(4096, buckets.count * 2)
    }
}
