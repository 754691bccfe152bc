/// A moment in milliseconds since 1970-01-01T00:00:00Z, the resolution that clients see.
package struct Timestamp: Hashable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// PostgreSQL counts microseconds from 2000-01-01 (Documentation, "Date/Time Types").
    package init(postgresMicroseconds: Int64) {
        milliseconds = Self.floorDivide(postgresMicroseconds, by: 1000) + Self.postgresEpoch
    }

    package var postgresMicroseconds: Int64 { (milliseconds - Self.postgresEpoch) * 1000 }

    private static let postgresEpoch: Int64 = 946_684_800_000

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }
}

extension Timestamp: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
}
