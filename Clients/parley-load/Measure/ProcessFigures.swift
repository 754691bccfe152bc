import Glibc
import ServiceKit

/// The figures of a process from /proc (proc(5)).
struct ProcessFigures: Equatable, Sendable {
    /// The user and system time of all its threads.
    var cpuSeconds: Double
    /// The same for its children that have ended and been waited for.
    var endedChildrenSeconds: Double
    var residentBytes: Int
    /// The part of the memory that belongs to this process alone.
    var anonymousBytes: Int
    var parent: Int32

    /// Returns nil when there is no such process.
    init?(pid: Int32) {
        guard let stat = readTextFile("/proc/\(pid)/stat"), let status = readTextFile("/proc/\(pid)/status") else {
            return nil
        }
        self.init(stat: stat, status: status, ticksPerSecond: Double(sysconf(CInt(_SC_CLK_TCK))))
    }

    /// - Parameters:
    ///   - stat: `pid (name) state ppid …`. The name may contain anything, so fields are counted from the last `)`.
    ///   - status: lines of `Name: value`.
    init?(stat: String, status: String, ticksPerSecond: Double) {
        guard let name = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: name)...].split(separator: " ")
        guard fields.count > 14, let parent = Int32(fields[1]) else { return nil }
        let ticks = fields[11...14].map { Double($0) ?? 0 }
        self.parent = parent
        cpuSeconds = (ticks[0] + ticks[1]) / ticksPerSecond
        endedChildrenSeconds = (ticks[2] + ticks[3]) / ticksPerSecond
        residentBytes = Self.bytes("VmRSS", in: status)
        anonymousBytes = Self.bytes("RssAnon", in: status)
    }

    private static func bytes(_ name: String, in status: String) -> Int {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("\(name):") }) else { return 0 }
        return (line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0)
            * 1024
    }
}
