import Glibc
import Models

extension Timestamp {
    /// The time of the system clock, for logs and token lifetimes. Times that clients see come from PostgreSQL.
    public static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
