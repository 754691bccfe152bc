/// Prevents a fault that recurs thousands of times a second from flooding the log: limits the lines per event and
/// second, and counts the suppressed ones.
struct RepeatLimiter {
    enum Decision: Equatable {
        case suppress
        /// `suppressed`: lines of this event suppressed since the last one written.
        case write(suppressed: Int)
    }

    private struct Count {
        var second: Int64
        var written = 0
        var suppressed = 0
    }

    let linesPerSecond: Int
    /// Keyed by the addresses of the events, which are literals in the code, so the number is bounded.
    private var counts: [UInt: Count] = [:]

    init(linesPerSecond: Int) { self.linesPerSecond = linesPerSecond }

    mutating func admit(_ event: StaticString, atSecond second: Int64) -> Decision {
        let key = event.hasPointerRepresentation ? UInt(bitPattern: event.utf8Start) : UInt(event.unicodeScalar.value)
        var count = counts[key] ?? Count(second: second)
        defer { counts[key] = count }
        if count.second != second { count = Count(second: second, suppressed: count.suppressed) }
        guard count.written < linesPerSecond else {
            count.suppressed += 1
            return .suppress
        }
        count.written += 1
        defer { count.suppressed = 0 }
        return .write(suppressed: count.suppressed)
    }
}
