import JSON
import Models

/// A line that a service wrote about a traced request.
struct JourneyLine: Equatable {
    let time: Timestamp
    let service: String
    let event: String
    let trace: String
    /// The message it is about, and the position in a conversation, where it tells.
    let message: String?
    let position: String?
    /// Everything else, in its order.
    let details: [String]

    /// Nil for every other line of a log.
    init?(_ line: Substring) {
        guard line.contains("\"trace\":"), let fields = Self.fields(line) else { return nil }
        let values = Dictionary(fields, uniquingKeysWith: { $1 })
        guard let time = values["time"].flatMap({ Timestamp(rfc3339: $0) }), let service = values["service"],
            let event = values["event"], let trace = values["trace"]
        else { return nil }
        self.time = time
        self.service = "\(service)-\(values["instance"] ?? "0")"
        self.event = event.hasPrefix("traced: ") ? String(event.dropFirst("traced: ".count)) : event
        self.trace = trace
        message = values["message"]
        position = values["seq"].map { "\(values["conversation"] ?? "") \($0)" }
        let shown: Set = ["time", "level", "service", "instance", "event"]
        details = fields.filter { !shown.contains($0.0) }.map { "\($0.0) \($0.1)" }
    }

    private static func fields(_ line: Substring) -> [(String, String)]? {
        Array(line.utf8).withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            do {
                var fields: [(String, String)] = []
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    let isText = try reader.kind() == .string
                    fields.append(
                        (
                            key.string,
                            isText ? try reader.string() : String(decoding: try reader.encodedValue(), as: UTF8.self)
                        ))
                }
                return fields
            } catch {
                return nil
            }
        }
    }

    /// What happened to a message in all requests that wrote it, in order of time. A request of many messages has lines
    /// about the others, which are left out.
    static func journey(of message: String, in lines: [JourneyLine]) -> [JourneyLine] {
        let own = lines.filter { $0.message == message }
        let traces = Set(own.map(\.trace)), positions = Set(own.map(\.position))
        return lines.filter { line in
            traces.contains(line.trace)
                && (line.message == message || line.position == nil || positions.contains(line.position))
        }.sorted { ($0.time.milliseconds, $0.order) < ($1.time.milliseconds, $1.order) }
    }

    /// Within a millisecond, the way of a request.
    private var order: Int { ["received", "committed", "delivered", "responded"].firstIndex(of: event) ?? 4 }

    func text(since first: JourneyLine) -> String {
        let elapsed = "+\(time.milliseconds - first.time.milliseconds) ms"
        let columns = [elapsed, service, event].map { $0 + String(repeating: " ", count: max(0, 10 - $0.count)) }
        return (columns + [details.joined(separator: ", ")]).joined(separator: "  ")
    }
}
