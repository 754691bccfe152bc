import Bytes
import Glibc
import JSON
import Models
import Synchronization

/// The log of a process: one JSON object per line on standard error.
///
/// `{"time":…,"level":"info","service":"store","instance":0,"event":"started",…}`. Events are fixed texts; everything
/// variable is a field. Message bodies and tokens are never logged. A line is one `write`, so lines of several threads
/// or processes on one pipe are not interleaved (up to PIPE_BUF, 4 KiB).
public final class Log: Sendable {
    public enum Level: Int, Comparable, Sendable, CaseIterable {
        case debug, info, warning, error

        public var name: StaticString {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }

        public init?(name: String) {
            guard let level = Self.allCases.first(where: { $0.name.description == name }) else { return nil }
            self = level
        }

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    private let service: String
    private let instance: Int
    private let level: Level
    private let descriptor: CInt
    private let repeats = Mutex(RepeatLimiter(linesPerSecond: 20))

    public init(service: String, instance: Int = 0, level: Level = .info, descriptor: CInt = STDERR_FILENO) {
        self.service = service
        self.instance = instance
        self.level = level
        self.descriptor = descriptor
    }

    public func debug(_ event: StaticString, _ fields: [LogField] = []) { write(.debug, event, fields) }
    public func info(_ event: StaticString, _ fields: [LogField] = []) { write(.info, event, fields) }
    public func warning(_ event: StaticString, _ fields: [LogField] = []) { write(.warning, event, fields) }
    public func error(_ event: StaticString, _ fields: [LogField] = []) { write(.error, event, fields) }

    /// Whether a line of this level would be written, so that callers can skip gathering its fields.
    public func writes(_ level: Level) -> Bool { level >= self.level }

    private func write(_ level: Level, _ event: StaticString, _ fields: [LogField]) {
        guard writes(level) else { return }
        let now = Timestamp.now
        switch repeats.withLock({ $0.admit(event, atSecond: now.milliseconds / 1000) }) {
        case .suppress: return
        case .write(let suppressed):
            let fields = suppressed == 0 ? fields : fields + [LogField("suppressed", suppressed)]
            writeLine(level, event, fields, at: now)
        }
    }

    private func writeLine(_ level: Level, _ event: StaticString, _ fields: [LogField], at time: Timestamp) {
        var line = ByteBuffer()
        line.beginObject()
        line.append(key: "time", json: time)
        line.append(key: "level", json: level.name)
        line.append(key: "service", json: service)
        line.append(key: "instance", json: instance)
        line.append(key: "event", json: event)
        for field in fields { field.write(to: &line) }
        line.endObject()
        line.append(UInt8(ascii: "\n"))
        // A line that cannot be written is lost: there is nowhere to report it.
        _ = Glibc.write(descriptor, line.bytes.baseAddress, line.bytes.count)
    }
}
