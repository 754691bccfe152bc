import Bytes
import Reactor

/// What a service counts, as Prometheus reads it (text format 0.0.4).
///
/// Counters and histograms are plain numbers on the reactor's thread: counting costs an addition. They are made once, at
/// start, and kept by whoever counts; labels are fixed then, so nobody can grow the number of series by a request.
@Reactor
package final class Metrics {
    /// Series of one name share a help text and a type, and stand together.
    private struct Family {
        let name: String
        let help: String
        let type: String
        var series: [any MetricSeries] = []
    }

    private var families: [Family] = []
    private var positions: [String: Int] = [:]

    package init() {}

    /// Counts something that only ever grows. By convention its name ends in `_total`.
    package func counter(_ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:]) -> Counter {
        let counter = Counter(name: name + render(labels))
        add(counter, name, help, "counter")
        return counter
    }

    /// A number that goes up and down, read when somebody asks for it.
    package func gauge(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        value: @escaping @Reactor () -> Double
    ) {
        add(Gauge(name: name + render(labels), value: value), name, help, "gauge")
    }

    /// A number that only grows and is counted elsewhere, read when somebody asks for it.
    package func counter(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        value: @escaping @Reactor () -> Double
    ) {
        add(Gauge(name: name + render(labels), value: value), name, help, "counter")
    }

    /// How values are distributed over `buckets`, which are upper bounds in ascending order.
    package func histogram(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        buckets: [Double] = Histogram.secondsBuckets
    ) -> Histogram {
        let histogram = Histogram(name: name, labels: labels.map { ($0.key, $0.value) }, bounds: buckets)
        add(histogram, name, help, "histogram")
        return histogram
    }

    package func write(to buffer: inout ByteBuffer) {
        for family in families {
            buffer.append(utf8: "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.type)\n")
            for series in family.series { series.write(to: &buffer) }
        }
    }

    private func add(_ series: any MetricSeries, _ name: String, _ help: String, _ type: String) {
        if let position = positions[name] {
            precondition(families[position].type == type, "\(name) has one type")
            families[position].series.append(series)
        } else {
            positions[name] = families.count
            families.append(Family(name: name, help: help, type: type, series: [series]))
        }
    }

    private func render(_ labels: KeyValuePairs<String, String>) -> String {
        renderLabels(labels.map { ($0.key, $0.value) })
    }
}

@Reactor
private protocol MetricSeries: AnyObject {
    func write(to buffer: inout ByteBuffer)
}

@Reactor
package final class Counter: MetricSeries {
    private let name: String
    package private(set) var value: UInt64 = 0

    fileprivate init(name: String) { self.name = name }

    package func increment(by amount: Int = 1) { value &+= UInt64(truncatingIfNeeded: amount) }

    func write(to buffer: inout ByteBuffer) { buffer.append(utf8: "\(name) \(value)\n") }
}

@Reactor
private final class Gauge: MetricSeries {
    private let name: String
    private let value: @Reactor () -> Double

    init(name: String, value: @escaping @Reactor () -> Double) {
        self.name = name
        self.value = value
    }

    func write(to buffer: inout ByteBuffer) { buffer.append(utf8: "\(name) \(renderNumber(value()))\n") }
}

@Reactor
package final class Histogram: MetricSeries {
    /// From 100 µs, a request that touches nothing, to 10 s, a deadline passed.
    package nonisolated static let secondsBuckets: [Double] = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    /// From 1 to 4,096, for sizes of batches and lengths of queues.
    package nonisolated static let sizeBuckets: [Double] = (0...12).map { Double(1 << $0) }

    private let name: String
    private let labels: [(String, String)]
    private let bounds: [Double]
    /// One more than bounds: the last counts what is above all of them.
    private var counts: [UInt64]
    private var sum = 0.0

    fileprivate init(name: String, labels: [(String, String)], bounds: [Double]) {
        precondition(bounds == bounds.sorted(), "the bounds of a histogram ascend")
        self.name = name
        self.labels = labels
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package func observe(_ value: Double) {
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        counts[bucket] &+= 1
        sum += value
    }

    /// In seconds, Prometheus' base unit.
    package func observe(_ duration: Duration) { observe(Double(duration.nanoseconds) / 1e9) }

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

private func renderLabels(_ labels: [(String, String)]) -> String {
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
