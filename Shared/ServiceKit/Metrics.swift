import Bytes
import Reactor

/// The metrics of a service, in Prometheus' text format 0.0.4.
///
/// Counters and histograms are plain numbers on the reactor's thread: counting costs an addition. They are made once,
/// at start, with fixed labels, so that requests cannot add series.
@Reactor
public final class Metrics {
    /// The series of one name, which share a help text and a type, and are written together.
    private struct Family {
        let name: String
        let help: String
        let type: String
        var series: [any MetricSeries] = []
    }

    private var families: [Family] = []
    private var positions: [String: Int] = [:]

    public init() {}

    /// Adds a counter. By convention its name ends in `_total`.
    public func counter(_ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:]) -> Counter {
        let counter = Counter(name: name + render(labels))
        add(counter, name, help, "counter")
        return counter
    }

    /// Adds a gauge, whose value is read at each scrape.
    public func gauge(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        value: @escaping @Reactor () -> Double
    ) {
        add(Gauge(name: name + render(labels), value: value), name, help, "gauge")
    }

    /// Adds a counter that is counted elsewhere and read at each scrape.
    public func counter(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        value: @escaping @Reactor () -> Double
    ) {
        add(Gauge(name: name + render(labels), value: value), name, help, "counter")
    }

    /// Adds a histogram over `buckets`, the upper bounds in ascending order.
    public func histogram(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        buckets: [Double] = Histogram.secondsBuckets
    ) -> Histogram {
        let histogram = Histogram(name: name, labels: labels.map { ($0.key, $0.value) }, bounds: buckets)
        add(histogram, name, help, "histogram")
        return histogram
    }

    public func write(to buffer: inout ByteBuffer) {
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
