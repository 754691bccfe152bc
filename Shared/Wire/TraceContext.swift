import Bytes
import Models

/// The trace of a request (W3C Trace Context, 3.2), by which a message can be followed through the logs of all
/// services. Only requests with the flag `sampled` have one.
///
/// Layout in an entry, before its kind: 255, which is no kind · trace 16 · parent 8. An entry without a trace has none
/// of these bytes.
public struct TraceContext: Hashable, Sendable {
    /// The id of the trace.
    public let trace: UUIDBytes
    /// The id of the operation that made the request.
    public let parent: UInt64

    public init(trace: UUIDBytes, parent: UInt64) {
        self.trace = trace
        self.parent = parent
    }

    static let mark: UInt8 = 255

    /// Parses a `traceparent` header: `00-<trace>-<parent>-<flags>`, in lower-case hexadecimal digits. A later version
    /// may have more fields. Nil when malformed, which the specification says to ignore, or not sampled.
    public init?(traceparent: UnsafeRawBufferPointer) {
        let parts = traceparent.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].count == 2, parts[1].count == 32, parts[2].count == 16, parts[3].count == 2,
            let version = Self.number(parts[0]), version != 0xFF, version != 0 || parts.count == 4,
            let high = Self.number(parts[1].prefix(16)), let low = Self.number(parts[1].suffix(16)),
            let parent = Self.number(parts[2]), let flags = Self.number(parts[3]),
            high | low != 0, parent != 0, flags & 1 == 1
        else { return nil }
        self.init(trace: UUIDBytes(high: high, low: low), parent: parent)
    }

    /// The text in headers and logs.
    public var traceText: String { Self.text(trace.high) + Self.text(trace.low) }
    public var parentText: String { Self.text(parent) }

    private static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}

extension ByteBuffer {
    /// Appends a kind, after the trace context if there is one.
    mutating func append(kind: UInt8, _ trace: TraceContext?) {
        if let trace {
            append(TraceContext.mark)
            append(bigEndian: trace.trace)
            append(bigEndian: trace.parent)
        }
        append(kind)
    }
}

extension ByteReader {
    mutating func kind() throws(WireError) -> (UInt8, TraceContext?) {
        let kind: UInt8 = try number()
        guard kind == TraceContext.mark else { return (kind, nil) }
        let trace = TraceContext(trace: try uuid(), parent: try number())
        return (try number(), trace)
    }
}
