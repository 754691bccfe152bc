/// A moment in milliseconds since 1970-01-01T00:00:00Z, the resolution that clients see.
public struct Timestamp: Hashable, Sendable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The last moment that clients can name: a mute until then has no end.
    public static let forever = Timestamp(milliseconds: 253_402_300_799_999)

    /// Converts from PostgreSQL's microseconds since 2000-01-01 (Documentation, "Date/Time Types").
    public init(postgresMicroseconds: Int64) {
        milliseconds = Self.floorDivide(postgresMicroseconds, by: 1000) + Self.postgresEpoch
    }

    public var postgresMicroseconds: Int64 { (milliseconds - Self.postgresEpoch) * 1000 }

    private static let postgresEpoch: Int64 = 946_684_800_000

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }
}

extension Timestamp: Comparable {
    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
}
