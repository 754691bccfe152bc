import Bytes
import Reactor

/// What a service counts, as Prometheus reads it (text format 0.0.4).
///
/// Counters and histograms are plain numbers on the reactor's thread: counting costs an addition. They are made once, at
/// start, and kept by whoever counts; labels are fixed then, so nobody can grow the number of series by a request.
@Reactor
public final class Metrics {
    /// Series of one name share a help text and a type, and stand together.
    private struct Family {
        let name: String
        let help: String
        let type: String
        var series: [any MetricSeries] = []
    }

    private var families: [Family] = []
    private var positions: [String: Int] = [:]

    public init() {}

    /// Counts something that only ever grows. By convention its name ends in `_total`.
    public func counter(_ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:]) -> Counter {
        let counter = Counter(name: name + render(labels))
        add(counter, name, help, "counter")
        return counter
    }

    /// A number that goes up and down, read when somebody asks for it.
    public func gauge(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        value: @escaping @Reactor () -> Double
    ) {
        add(Gauge(name: name + render(labels), value: value), name, help, "gauge")
    }

    /// A number that only grows and is counted elsewhere, read when somebody asks for it.
    public func counter(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        value: @escaping @Reactor () -> Double
    ) {
        add(Gauge(name: name + render(labels), value: value), name, help, "counter")
    }

    /// How values are distributed over `buckets`, which are upper bounds in ascending order.
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
