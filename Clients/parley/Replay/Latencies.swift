/// Durations, kept individually so that percentiles are exact.
struct Latencies: Sendable {
    /// The values in microseconds, up to 71 minutes.
    private var values: [UInt32] = []

    var count: Int { values.count }

    mutating func record(nanoseconds: UInt64) { values.append(UInt32(clamping: nanoseconds / 1000)) }

    mutating func record(contentsOf other: Latencies) { values += other.values }

    /// Returns milliseconds for shares from 0 to 1: the smallest value that at least this share of all does not exceed.
    func percentiles(_ shares: [Double]) -> [Double] {
        guard !values.isEmpty else { return shares.map { _ in 0 } }
        let sorted = values.sorted()
        return shares.map { share in
            let rank = Int((share * Double(sorted.count)).rounded(.up))
            return Double(sorted[min(max(rank, 1), sorted.count) - 1]) / 1000
        }
    }
}
