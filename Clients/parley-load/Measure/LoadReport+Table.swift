import CommandSupport

/// The report as a table.
extension LoadReport {
    var table: String {
        let sections = [
            ["\(scenario): \(description); \(rounded(seconds, 1)) s"],
            figures.map { line($0.title, Self.text($0)) },
            latencyLines, usageLines, [line("checked", checked)],
            [line("mismatches", grouped(mismatches.count))] + mismatches.samples.map { "    \($0)" },
        ]
        return sections.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n")
    }

    private func line(_ title: String, _ value: String) -> String { "  \(Self.left(title, 26)) \(value)" }

    private static func text(_ figure: Figure) -> String {
        let number =
            figure.decimals == 0 ? grouped(Int(figure.value.rounded())) : rounded(figure.value, figure.decimals)
        return right(number, 12) + (figure.unit.isEmpty || figure.unit.hasPrefix("/") ? "" : " ") + figure.unit
    }

    private var latencyLines: [String] {
        guard let first = latencies.first else { return [] }
        let head = line(
            "latency in ms", first.percentiles.map { Self.right($0.name == "p999" ? "p99.9" : $0.name, 10) }.joined())
        return [head]
            + latencies.map { latency in
                line(latency.title, latency.percentiles.map { Self.right(rounded($0.value, 2), 10) }.joined())
            }
    }

    private var usageLines: [String] {
        guard !usage.isEmpty else { return [] }
        let head = line(
            "process", Self.right("CPU %", 10) + Self.right("s per 1,000 \(unit)", 24) + Self.right("peak RSS", 14))
        return [head]
            + usage.map { process in
                line(
                    process.name,
                    Self.right(rounded(seconds > 0 ? process.cpuSeconds / seconds * 100 : 0, 0), 10)
                        + Self.right(units > 0 ? rounded(process.secondsPer1000(units), 4) : "-", 24)
                        + Self.right("\(rounded(Double(process.peakBytes) / 1_048_576, 1)) MiB", 14))
            }
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}
