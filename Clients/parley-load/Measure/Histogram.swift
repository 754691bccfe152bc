/// A distribution of durations in logarithmic buckets, like HdrHistogram. Memory does not grow with the number of
/// values, and no value is off by more than 1/128.
///
/// Below 256 ns every value has its own bucket. Above, each power of two is divided into 128 equal buckets. Larger
/// values than 2⁴³ ns (146 minutes) count as 2⁴³ ns, except in `maximum`.
struct Histogram: Sendable {
    private static let precisionBits = 7
    private static let largest: UInt64 = 1 << 43 - 1

    private var counts = [UInt64](repeating: 0, count: index(of: largest) + 1)
    private(set) var count: UInt64 = 0
    /// The exact maximum, in nanoseconds.
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

    /// Returns a value in nanoseconds that at least this share (0 to 1) of all values does not exceed, within the width
    /// of a bucket. 0 when nothing was recorded.
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

    /// Returns the largest value in the bucket.
    static func upperEdge(of index: Int) -> UInt64 {
        guard index >= 2 << precisionBits else { return UInt64(index) }
        let shift = UInt64(index >> precisionBits - 1)
        let start = UInt64(index & (1 << precisionBits - 1) + 1 << precisionBits)
        return (start + 1) << shift - 1
    }
}
