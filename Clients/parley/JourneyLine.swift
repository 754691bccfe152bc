import JSON
import Models

/// A log line of a service about a traced request.
struct JourneyLine: Equatable {
    let time: Timestamp
    let service: String
    let event: String
    let trace: String
    /// The message it is about, and the position in the conversation, if given.
    let message: String?
    let position: String?
    /// All other fields, in their order.
    let details: [String]

    /// Returns nil for every other log line.
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

    /// Returns the events of a message in all requests that wrote it, in order of time. Lines about other messages of
    /// the same request are left out.
    static func journey(of message: String, in lines: [JourneyLine]) -> [JourneyLine] {
        let own = lines.filter { $0.message == message }
        let traces = Set(own.map(\.trace)), positions = Set(own.map(\.position))
        return lines.filter { line in
            traces.contains(line.trace)
                && (line.message == message || line.position == nil || positions.contains(line.position))
        }.sorted { ($0.time.milliseconds, $0.order) < ($1.time.milliseconds, $1.order) }
    }

    /// The order of a request's events within a millisecond.
    private var order: Int { ["received", "committed", "delivered", "responded"].firstIndex(of: event) ?? 4 }

    func text(since first: JourneyLine) -> String {
        let elapsed = "+\(time.milliseconds - first.time.milliseconds) ms"
        let columns = [elapsed, service, event].map { $0 + String(repeating: " ", count: max(0, 10 - $0.count)) }
        return (columns + [details.joined(separator: ", ")]).joined(separator: "  ")
    }
}
