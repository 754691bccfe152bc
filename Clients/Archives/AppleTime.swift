import Models

/// The dates of Messages: nanoseconds since 2001-01-01 UTC, in rows of before macOS 10.13 seconds. 0 is none.
enum AppleTime {
    private static let epochMilliseconds: Int64 = 978_307_200_000
    /// Seconds of the year 5138, or 100 s in nanoseconds.
    private static let leastNanoseconds: Int64 = 100_000_000_000

    /// The SQL of a date as nanoseconds, 0 without one.
    static func nanoseconds(_ column: String) -> String {
        """
        CASE WHEN \(column) > \(leastNanoseconds) THEN \(column) WHEN \(column) > 0 THEN \(column) * 1000000000 ELSE 0 END
        """
    }

    static func timestamp(nanoseconds: Int64) -> Timestamp? {
        nanoseconds > 0 ? Timestamp(milliseconds: epochMilliseconds + nanoseconds / 1_000_000) : nil
    }

    /// Of the seconds in property lists. Nil for what is no date of this era.
    static func timestamp(seconds: Double) -> Timestamp? {
        guard seconds > 0, seconds < Double(leastNanoseconds) else { return nil }
        return Timestamp(milliseconds: epochMilliseconds + Int64((seconds * 1000).rounded()))
    }

    /// What a file without any date is given: the beginning of Apple's time.
    static let epoch = Timestamp(milliseconds: epochMilliseconds)
}
