import Bytes
import CommandSupport
import JSON

/// The results of a replay, as a table for people and as JSON for machines.
struct ReplayReport: Sendable {
    /// Percentiles in milliseconds.
    struct Distribution: Sendable {
        let count: Int
        let p50, p90, p99, maximum: Double

        init(_ latencies: Latencies) {
            let values = latencies.percentiles([0.5, 0.9, 0.99, 1])
            count = latencies.count
            (p50, p90, p99, maximum) = (values[0], values[1], values[2], values[3])
        }
    }

    let conversations, users, messages, replies, acknowledged: Int
    let seconds: Double
    let listeners, deliveries, repetitions, reconnections: Int
    let sendToAck, sendToReceive: Distribution
    let mismatches: MismatchList

    var rate: Double { seconds > 0 ? Double(acknowledged) / seconds : 0 }

    var table: String {
        let rows = [
            ("conversations", "\(grouped(conversations)) of \(grouped(users)) users"),
            ("messages", "\(grouped(acknowledged)) of \(grouped(messages)) acknowledged"),
            ("replies", grouped(replies)),
            ("time", "\(rounded(seconds, 2)) s"),
            ("rate", "\(grouped(Int(rate))) acknowledged messages/s"),
            ("listeners", "\(grouped(listeners)), who received \(grouped(deliveries)) changes"),
            ("send to ack", sendToAck.line),
            ("send to receive", sendToReceive.line),
            ("repeated requests", grouped(repetitions)),
            ("reconnections", grouped(reconnections)),
            ("mismatches", grouped(mismatches.count)),
        ]
        let lines = rows.map { title, value in
            "  \(title)\(String(repeating: " ", count: 20 - title.count))\(value)"
        }
        return (lines + mismatches.samples.map { "    \($0)" }).joined(separator: "\n")
    }

    var json: String {
        var buffer = ByteBuffer()
        buffer.beginObject()
        let counts: KeyValuePairs<StaticString, Int> = [
            "conversations": conversations, "users": users, "messages": messages, "replies": replies,
            "acknowledged": acknowledged, "listeners": listeners, "deliveries": deliveries,
            "repetitions": repetitions, "reconnections": reconnections, "mismatches": mismatches.count,
        ]
        for (name, count) in counts { buffer.append(key: name, json: count) }
        buffer.append(key: "seconds", encodedNumber: seconds)
        buffer.append(key: "messagesPerSecond", encodedNumber: rate)
        sendToAck.write("sendToAckMilliseconds", to: &buffer)
        sendToReceive.write("sendToReceiveMilliseconds", to: &buffer)
        buffer.append(key: "samples")
        buffer.beginArray()
        for sample in mismatches.samples { buffer.append(element: sample) }
        buffer.endArray()
        buffer.endObject()
        return String(decoding: buffer.bytes, as: UTF8.self)
    }
}

extension ReplayReport.Distribution {
    fileprivate var line: String {
        guard count > 0 else { return "-" }
        return
            "p50 \(rounded(p50, 2))   p90 \(rounded(p90, 2))   p99 \(rounded(p99, 2))   max \(rounded(maximum, 2)) ms"
    }

    fileprivate func write(_ name: StaticString, to buffer: inout ByteBuffer) {
        buffer.append(key: name)
        buffer.beginObject()
        buffer.append(key: "count", json: count)
        buffer.append(key: "p50", encodedNumber: p50)
        buffer.append(key: "p90", encodedNumber: p90)
        buffer.append(key: "p99", encodedNumber: p99)
        buffer.append(key: "max", encodedNumber: maximum)
        buffer.endObject()
    }
}

extension ByteBuffer {
    fileprivate mutating func append(key: StaticString, encodedNumber number: Double) {
        append(key: key)
        append(utf8: rounded(number, 3))
    }
}
