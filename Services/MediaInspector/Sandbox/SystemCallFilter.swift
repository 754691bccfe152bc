import CLinux
import CSeccomp
import Glibc

/// The system calls that are left. The list was found with strace over the corpus of `Tests/Inspector`.
final class SystemCallFilter {
    private let context: scmp_filter_ctx

    init() {
        context = seccomp_init(seccomp_kill)
        for name in Self.allowed { add(name, seccomp_allow) }
        for (name, error) in Self.failing { add(name, seccomp_error(error)) }
        addOutput()
        addMemory()
        addThreads()
    }

    deinit { seccomp_release(context) }

    func load() { precondition(seccomp_load(context) == 0, "system calls cannot be filtered here") }

    /// Memory that was had before, threads' waiting for each other, the end, and numbers that tell nothing.
    private static let allowed = [
        "brk", "clock_gettime", "exit", "exit_group", "futex", "getrandom", "gettid", "madvise", "mremap", "munmap",
        "rseq", "rt_sigprocmask", "rt_sigreturn", "sched_yield", "set_robust_list",
    ]

    /// What libraries try, and do without.
    private static let failing: [(String, Int32)] = [
        ("clone3", ENOSYS),  // Its flags lie in memory, where no filter sees them: glibc goes on to clone.
        ("sched_getaffinity", EPERM),  // So a decoder counts one processor, and takes one thread.
        ("prctl", EPERM),  // Names of threads.
        ("sysinfo", EPERM),  // To sort, glibc asks how much memory there is.
    ]

    private func addOutput() {
        for name in ["write", "writev"] {
            addWhere(name, seccomp_allow, argument: 0, mask: UInt.max, value: 1)
            // A library that complains; nobody hears it, as it may quote the file.
            addWhere(name, seccomp_error(EBADF), argument: 0, mask: UInt.max, value: 2)
        }
    }

    /// Memory that holds no file, and never anything that can be executed.
    private func addMemory() {
        addWhere("mprotect", seccomp_allow, argument: 2, mask: UInt(PROT_EXEC), value: 0)
        let added = seccomp_rule_where_both(
            context, seccomp_allow, Self.number(of: "mmap"), 2, UInt(PROT_EXEC), 0, 3, UInt(MAP_ANONYMOUS),
            UInt(MAP_ANONYMOUS))
        precondition(added == 0, "mmap cannot be filtered")
    }

    /// Threads of this process, which have its filter. libvips has one thread compute and another write.
    private func addThreads() {
        let thread = UInt(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)
        let namespaces = UInt(
            CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP)
        addWhere("clone", seccomp_allow, argument: 0, mask: thread | namespaces, value: thread)
    }

    private func add(_ name: String, _ action: UInt32) {
        precondition(seccomp_rule(context, action, Self.number(of: name)) == 0, "\(name) cannot be filtered")
    }

    private func addWhere(_ name: String, _ action: UInt32, argument: UInt32, mask: UInt, value: UInt) {
        let added = seccomp_rule_where(context, action, Self.number(of: name), argument, mask, value)
        precondition(added == 0, "\(name) cannot be filtered")
    }

    private static func number(of name: String) -> Int32 { seccomp_syscall_resolve_name(name) }
}
