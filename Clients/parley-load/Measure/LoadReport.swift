import Bytes
import CommandSupport
import JSON

/// The results of a run, as a table for people and as JSON for machines.
struct LoadReport: Sendable {
    /// A single number, such as a rate.
    struct Figure: Sendable {
        /// The key in JSON, in camelCase.
        let key: String
        let title: String
        let value: Double
        let unit: String
        var decimals = 0
    }

    struct Latency: Sendable {
        let key: String
        let title: String
        let histogram: Histogram
    }

    let scenario: String
    let run: String
    /// The requested load, in words.
    let description: String
    let seconds: Double
    var figures: [Figure] = []
    var latencies: [Latency] = []
    var usage: [ProcessMeter.Usage] = []
    /// The unit that CPU time is divided by, such as messages, and its count.
    var unit = "messages"
    var units = 0
    /// What was compared, in words.
    var checked = ""
    var mismatches = MismatchList()

    mutating func add(
        _ key: String, _ title: String, _ value: Double, _ unit: String = "", decimals: Int = 0
    ) {
        figures.append(Figure(key: key, title: title, value: value, unit: unit, decimals: decimals))
    }

    mutating func addRate(_ key: String, _ title: String, _ count: Int) {
        add(key, title, seconds > 0 ? Double(count) / seconds : 0, "/s")
    }

    /// Adds a histogram. Left out when nothing was recorded.
    mutating func add(_ key: String, _ title: String, _ histogram: Histogram) {
        if histogram.count > 0 { latencies.append(Latency(key: key, title: title, histogram: histogram)) }
    }
}

extension LoadReport.Latency {
    /// The percentiles in milliseconds.
    var percentiles: [(name: String, value: Double)] {
        let shares: KeyValuePairs = ["p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1]
        return shares.map { ($0, Double(histogram.percentile($1)) / 1e6) }
    }
}

extension ProcessMeter.Usage {
    func secondsPer1000(_ units: Int) -> Double { units > 0 ? cpuSeconds * 1000 / Double(units) : 0 }
}
