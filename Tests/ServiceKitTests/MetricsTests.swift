import Bytes
import Reactor
import ServiceKit
import TestSupport
import Testing

@Suite struct MetricsTests {
    init() { ReactorThread.start() }

    @Reactor private func exposition(_ metrics: Metrics) -> String {
        var buffer = ByteBuffer()
        metrics.write(to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    @Test("series of one name are written together under one help and type")
    @Reactor func families() async {
        let metrics = Metrics()
        let accepted = metrics.counter("requests_total", "Requests.", labels: ["status": "201"])
        metrics.gauge("sessions", "Open sessions.") { 2.5 }
        let refused = metrics.counter("requests_total", "Requests.", labels: ["status": "4\"\\\n"])
        accepted.increment()
        accepted.increment(by: 41)
        refused.increment()
        #expect(
            exposition(metrics) == """
                # HELP requests_total Requests.
                # TYPE requests_total counter
                requests_total{status="201"} 42
                requests_total{status="4\\"\\\\\\n"} 1
                # HELP sessions Open sessions.
                # TYPE sessions gauge
                sessions 2.5

                """)
    }

    @Test("a histogram's buckets are cumulative, and include their upper bound")
    @Reactor func histogram() async {
        let metrics = Metrics()
        let histogram = metrics.histogram("seconds", "How long.", labels: ["call": "send"], buckets: [0.001, 0.01, 1])
        histogram.observe(.milliseconds(1))
        histogram.observe(.milliseconds(5))
        histogram.observe(0.5)
        histogram.observe(7)
        #expect(
            exposition(metrics) == """
                # HELP seconds How long.
                # TYPE seconds histogram
                seconds_bucket{call="send",le="0.001"} 1
                seconds_bucket{call="send",le="0.01"} 2
                seconds_bucket{call="send",le="1"} 3
                seconds_bucket{call="send",le="+Inf"} 4
                seconds_sum{call="send"} 7.506
                seconds_count{call="send"} 4

                """)
    }

    @Test("a process reports its memory and CPU time")
    @Reactor func process() async throws {
        let metrics = Metrics()
        metrics.addProcessMetrics(service: "store", instance: 1)
        let lines = exposition(metrics).split(separator: "\n")
        let memory = try #require(lines.first { $0.hasPrefix("process_resident_memory_bytes ") })
        #expect(Int(memory.split(separator: " ")[1]).map { $0 > 1_000_000 } == true)
        #expect(lines.contains { $0.hasPrefix("process_cpu_seconds_total ") })
        #expect(lines.contains(#"parley_service_info{service="store",instance="1"} 1"#))
    }
}
