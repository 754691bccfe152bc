/// Keeps a fault that recurs thousands of times a second from flooding the log: of each event a number of lines per
/// second, then one that says how many were left out.
struct RepeatLimiter {
    enum Decision: Equatable {
        case suppress
        /// `suppressed`: lines of this event left out since the last one written.
        case write(suppressed: Int)
    }

    private struct Count {
        var second: Int64
        var written = 0
        var suppressed = 0
    }

    let linesPerSecond: Int
    /// Bounded: events are literals in the code, known here by their addresses.
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
