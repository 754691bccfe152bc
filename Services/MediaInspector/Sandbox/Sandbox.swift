import CLinux
import CSeccomp
import Glibc

/// What this process can do from the moment on that it looks at the first byte of a file: compute, take memory, start
/// threads that can do no more than itself, and write on descriptor 1. Any other system call ends it with SIGSYS.
///
/// It needs no privileges, namespaces or helpers, so it holds in containers, too (docs/decisions/0046-media-inspector.md).
struct Sandbox {
    private let filter: SystemCallFilter
    private let limits: Limits

    /// Prepares what takes a moment, so that a server does it once for all files.
    init(_ limits: Limits) {
        self.limits = limits
        filter = SystemCallFilter()
    }

    /// For good. Everything that libraries open must be open by now.
    func close() {
        limits.apply()
        precondition(seccomp_hide_memory() == 0 && seccomp_forbid_privileges() == 0, "prctl is not allowed here")
        filter.load()
    }
}

/// What a file may cost.
struct Limits {
    /// Of processor time; three times as much may pass.
    let seconds: Int
    /// Of memory, beyond what the process has when it begins.
    let memoryBytes: Int

    fileprivate func apply() {
        alarm(UInt32(3 * seconds))
        set(RLIMIT_CPU, seconds)
        set(RLIMIT_AS, Self.addressSpace() + memoryBytes)
        set(RLIMIT_FSIZE, 0)
        set(RLIMIT_CORE, 0)
        set(RLIMIT_NOFILE, 0)  // What is open stays open.
    }

    private func set(_ resource: __rlimit_resource, _ value: Int) {
        var limit = rlimit(rlim_cur: rlim_t(value), rlim_max: rlim_t(value))
        precondition(setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0, "a limit cannot be set")
    }

    /// In bytes: the libraries, and the file.
    private static func addressSpace() -> Int {
        let descriptor = open("/proc/self/statm", O_RDONLY)
        precondition(descriptor >= 0, "/proc is not mounted")
        defer { close(descriptor) }
        var digits = [UInt8](repeating: 0, count: 32)
        let count = read(descriptor, &digits, digits.count)
        let pages = digits.prefix(max(0, count)).prefix { $0 != UInt8(ascii: " ") }
        return Int(String(decoding: pages, as: UTF8.self))! * sysconf(Int32(_SC_PAGESIZE))
    }
}
