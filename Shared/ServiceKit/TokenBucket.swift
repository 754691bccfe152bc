import Reactor

/// How much one user may do: filled evenly, emptied by what is done, and as large as a burst may be.
public struct TokenBucket {
    public struct Rate: Sendable {
        public let perSecond: Int
        public let burst: Int

        public init(perSecond: Int, burst: Int) {
            self.perSecond = perSecond
            self.burst = burst
        }

        /// Of a bucket, in billionths.
        fileprivate var capacity: Int64 { Int64(burst) * TokenBucket.unit }
    }

    fileprivate static let unit: Int64 = 1_000_000_000

    /// What is left, in billionths, when it was last looked at. Negative when it is overdrawn.
    private var level: Int64
    private var lookedAt: MonotonicTime

    /// A full one.
    public init(_ rate: Rate, at now: MonotonicTime) {
        level = rate.capacity
        lookedAt = now
    }

    public func isFull(_ rate: Rate, at now: MonotonicTime) -> Bool { level(rate, at: now) >= rate.capacity }

    /// Takes `cost` out; false, with nothing taken, when there is not so much in it.
    ///
    /// Nothing costs more than a full bucket: otherwise a large batch could never pass.
    /// - Parameter paid: how much of it was taken before; given back when the rest is not there.
    public mutating func take(_ cost: Int, paid: Int = 0, _ rate: Rate, at now: MonotonicTime) -> Bool {
        let price = min(Int64(cost) * Self.unit, rate.capacity)
        level = min(rate.capacity, level(rate, at: now) + min(Int64(paid) * Self.unit, rate.capacity))
        lookedAt = now
        guard level >= price else { return false }
        level -= price
        return true
    }

    /// Takes `cost` out, even if there is not so much in it: what was done is not refused, but see `debt`.
    ///
    /// It is never overdrawn by more than a full bucket, so nobody waits longer than one takes to fill.
    public mutating func charge(_ cost: Double, _ rate: Rate, at now: MonotonicTime) {
        let price = Int64(min(cost * Double(Self.unit), Double(2 * rate.capacity)))
        level = max(level(rate, at: now) - price, -rate.capacity)
        lookedAt = now
    }

    /// How long until it is no longer overdrawn; nil when it is not.
    public func debt(_ rate: Rate, at now: MonotonicTime) -> Duration? {
        let level = level(rate, at: now)
        return level < 0 ? .nanoseconds(1 + -level / Int64(rate.perSecond)) : nil
    }

    private func level(_ rate: Rate, at now: MonotonicTime) -> Int64 {
        let (gained, overflow) = (now - lookedAt).nanoseconds.multipliedReportingOverflow(by: Int64(rate.perSecond))
        return overflow || gained >= rate.capacity - level ? rate.capacity : level + gained
    }
}
