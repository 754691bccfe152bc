/// A distribution of durations in logarithmic buckets, as HdrHistogram keeps them: memory does not grow with the number of
/// values, and no value is off by more than 1/128.
///
/// Below 256 ns every value has a bucket of its own; above, each power of two is cut into 128 equal buckets. Values beyond
/// 2⁴³ ns (146 minutes) count as that, except for `maximum`.
struct Histogram: Sendable {
    private static let precisionBits = 7
    private static let largest: UInt64 = 1 << 43 - 1

    private var counts = [UInt64](repeating: 0, count: index(of: largest) + 1)
    private(set) var count: UInt64 = 0
    /// In nanoseconds, exact.
    private(set) var maximum: UInt64 = 0

    mutating func record(nanoseconds value: UInt64) {
        counts[Self.index(of: min(value, Self.largest))] += 1
        count += 1
        maximum = max(maximum, value)
    }

    mutating func record(contentsOf other: Histogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        count += other.count
        maximum = max(maximum, other.maximum)
    }

    /// In nanoseconds, for a share from 0 to 1: a value that at least this share of all does not exceed, up to the width of
    /// a bucket. 0 when nothing was recorded.
    func percentile(_ share: Double) -> UInt64 {
        let rank = max(1, UInt64((share * Double(count)).rounded(.up)))
        guard rank < count else { return maximum }
        var seen: UInt64 = 0
        for index in counts.indices {
            seen += counts[index]
            if seen >= rank { return min(Self.upperEdge(of: index), maximum) }
        }
        return maximum
    }

    static func index(of value: UInt64) -> Int {
        guard value >= 2 << precisionBits else { return Int(value) }
        let shift = 63 - value.leadingZeroBitCount - precisionBits
        return shift << precisionBits + Int(value >> UInt64(shift))
    }

    /// The largest value that belongs into the bucket.
    static func upperEdge(of index: Int) -> UInt64 {
        guard index >= 2 << precisionBits else { return UInt64(index) }
        let shift = UInt64(index >> precisionBits - 1)
        let start = UInt64(index & (1 << precisionBits - 1) + 1 << precisionBits)
        return (start + 1) << shift - 1
    }
}
