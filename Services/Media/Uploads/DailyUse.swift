/// What a file counts for in its user's day: its bytes, or more if it is small. Looking into a file costs a process, keeping it a
/// row, however few bytes it has; so nobody uploads more than 20,000 of them in a day.
enum DailyUse {
    private static let filesPerDay: Int64 = 20_000
    /// A deployment that lets its users upload more than usual means more bytes, not fewer files.
    private static let most: Int64 = 100_000

    /// - Parameter limit: the bytes that a user may upload in a day.
    static func bytes(of size: Int64, limit: Int64) -> Int64 { max(size, min(limit / filesPerDay, most)) }
}
