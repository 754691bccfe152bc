import Reactor

/// How fast one user may ask: filled evenly, emptied by what is asked for, and as large as a burst may be.
struct TokenBucket {
    struct Rate: Sendable {
        let perSecond: Int
        let burst: Int

        /// Of a bucket, in billionths.
        fileprivate var capacity: Int64 { Int64(burst) * TokenBucket.unit }
    }

    fileprivate static let unit: Int64 = 1_000_000_000

    /// What is left, in billionths, when it was last looked at.
    private var level: Int64
    private var lookedAt: MonotonicTime

    /// A full one.
    init(_ rate: Rate, at now: MonotonicTime) {
        level = rate.capacity
        lookedAt = now
    }

    func isFull(_ rate: Rate, at now: MonotonicTime) -> Bool { level(rate, at: now) >= rate.capacity }

    /// Takes `cost` out; false, with nothing taken, when there is not so much in it.
    ///
    /// Nothing costs more than a full bucket: otherwise a large batch could never pass.
    /// - Parameter paid: how much of it was taken before; given back when the rest is not there.
    mutating func take(_ cost: Int, paid: Int = 0, _ rate: Rate, at now: MonotonicTime) -> Bool {
        let price = min(Int64(cost) * Self.unit, rate.capacity)
        level = min(rate.capacity, level(rate, at: now) + min(Int64(paid) * Self.unit, rate.capacity))
        lookedAt = now
        guard level >= price else { return false }
        level -= price
        return true
    }

    private func level(_ rate: Rate, at now: MonotonicTime) -> Int64 {
        let (gained, overflow) = (now - lookedAt).nanoseconds.multipliedReportingOverflow(by: Int64(rate.perSecond))
        return overflow || gained >= rate.capacity - level ? rate.capacity : level + gained
    }
}
