import Bytes
import Reactor

/// A series: one combination of a metric's name and labels.
@Reactor
protocol MetricSeries: AnyObject {
    func write(to buffer: inout ByteBuffer)
}

@Reactor
public final class Counter: MetricSeries {
    private let name: String
    public private(set) var value: UInt64 = 0

    init(name: String) { self.name = name }

    public func increment(by amount: Int = 1) { value &+= UInt64(truncatingIfNeeded: amount) }

    func write(to buffer: inout ByteBuffer) { buffer.append(utf8: "\(name) \(value)\n") }
}

@Reactor
final class Gauge: MetricSeries {
    private let name: String
    private let value: @Reactor () -> Double

    init(name: String, value: @escaping @Reactor () -> Double) {
        self.name = name
        self.value = value
    }

    func write(to buffer: inout ByteBuffer) { buffer.append(utf8: "\(name) \(renderNumber(value()))\n") }
}

@Reactor
public final class Histogram: MetricSeries {
    /// From 100 µs, a request without any query, to 10 s, beyond the deadline.
    public nonisolated static let secondsBuckets: [Double] = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    /// From 1 to 4,096, for sizes of batches and lengths of queues.
    public nonisolated static let sizeBuckets: [Double] = (0...12).map { Double(1 << $0) }

    private let name: String
    private let labels: [(String, String)]
    private let bounds: [Double]
    /// One more than the bounds: the last counts the values above all of them.
    private var counts: [UInt64]
    private var sum = 0.0

    init(name: String, labels: [(String, String)], bounds: [Double]) {
        precondition(bounds == bounds.sorted(), "the bounds of a histogram ascend")
        self.name = name
        self.labels = labels
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    public func observe(_ value: Double) {
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        counts[bucket] &+= 1
        sum += value
    }

    /// Adds a duration, in seconds, Prometheus' base unit.
    public func observe(_ duration: Duration) { observe(Double(duration.nanoseconds) / 1e9) }

    func write(to buffer: inout ByteBuffer) {
        var total: UInt64 = 0
        for (bound, count) in zip(bounds + [.infinity], counts) {
            total += count
            let labels = renderLabels(labels + [("le", renderNumber(bound))])
            buffer.append(utf8: "\(name)_bucket\(labels) \(total)\n")
        }
        let labels = renderLabels(labels)
        buffer.append(utf8: "\(name)_sum\(labels) \(renderNumber(sum))\n\(name)_count\(labels) \(total)\n")
    }
}

func renderLabels(_ labels: [(String, String)]) -> String {
    guard !labels.isEmpty else { return "" }
    return "{" + labels.map { "\($0)=\"\(escapeLabel($1))\"" }.joined(separator: ",") + "}"
}

private func escapeLabel(_ value: String) -> String {
    value.reduce(into: "") { escaped, character in
        switch character {
        case "\\": escaped += "\\\\"
        case "\"": escaped += "\\\""
        case "\n": escaped += "\\n"
        default: escaped.append(character)
        }
    }
}

private func renderNumber(_ number: Double) -> String {
    if number == .infinity { return "+Inf" }
    if let whole = Int64(exactly: number) { return "\(whole)" }
    return "\(number)"
}
