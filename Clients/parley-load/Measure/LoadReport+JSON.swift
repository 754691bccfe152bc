import Bytes
import CommandSupport
import JSON

/// The report as JSON:
///
///     {scenario, run, description, seconds, <figure>: number…, latencyMilliseconds: {<latency>: {count, p50, p90, p99, p999, max}…},
///      units: {name, count}, processes: [{name, cpuSeconds, cpuSecondsPer1000, peakBytes}…], mismatches, samples: [text…]}
extension LoadReport {
    var json: String {
        var buffer = ByteBuffer(capacity: 4096)
        buffer.beginObject()
        buffer.append(key: "scenario", json: scenario)
        buffer.append(key: "run", json: run)
        buffer.append(key: "description", json: description)
        buffer.append("seconds", number: seconds)
        for figure in figures { buffer.append(figure.key, number: figure.value) }
        writeLatencies(to: &buffer)
        writeUsage(to: &buffer)
        buffer.append(key: "mismatches", json: mismatches.count)
        buffer.append(key: "samples")
        buffer.beginArray()
        for sample in mismatches.samples { buffer.append(element: sample) }
        buffer.endArray()
        buffer.endObject()
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private func writeLatencies(to buffer: inout ByteBuffer) {
        buffer.append(key: "latencyMilliseconds")
        buffer.beginObject()
        for latency in latencies {
            buffer.append(dynamicKey: latency.key)
            buffer.beginObject()
            buffer.append(key: "count", json: Int(latency.histogram.count))
            for (name, value) in latency.percentiles { buffer.append(name, number: value) }
            buffer.endObject()
        }
        buffer.endObject()
    }

    private func writeUsage(to buffer: inout ByteBuffer) {
        buffer.append(key: "units")
        buffer.beginObject()
        buffer.append(key: "name", json: unit)
        buffer.append(key: "count", json: units)
        buffer.endObject()
        buffer.append(key: "processes")
        buffer.beginArray()
        for process in usage {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "name", json: process.name)
            buffer.append("cpuSeconds", number: process.cpuSeconds)
            buffer.append("cpuSecondsPer1000", number: process.secondsPer1000(units))
            buffer.append(key: "peakBytes", json: process.peakBytes)
            buffer.endObject()
        }
        buffer.endArray()
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ key: String, number: Double) {
        append(dynamicKey: key)
        append(utf8: rounded(number, 6))
    }
}
