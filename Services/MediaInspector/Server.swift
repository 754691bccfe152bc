import CLinux
import CSeccomp
import Glibc

/// Looks into one file after the other, or many at once, each in a process of its own that is made by `fork`: starting the
/// libraries takes longer than looking into a small picture.
///
/// On descriptor 0 is a Unix socket. Each message brings two descriptors (SCM_RIGHTS): the file, and a socket for frames. The
/// server itself looks at no byte of a file. It ends when the other side of its socket is closed, and its children with it.
struct Server {
    let inspector: Inspector

    func run() -> Never {
        signal(SIGCHLD, SIG_IGN)  // Nobody waits for them: the end of their frames says that they have ended.
        // Who asks all processes of a service to end asks the one that waits for these, which finishes its files first.
        for request in [SIGTERM, SIGINT, SIGHUP] { signal(request, SIG_IGN) }
        var descriptors: [Int32] = [-1, -1]
        while true {
            let received = linux_receive_descriptors(0, &descriptors, 2)
            if received == 0 { exit(0) }
            guard received > 0 else {
                precondition(errno == EINTR || errno == 0, "the socket on descriptor 0 fails")
                continue
            }
            start(descriptors[0], descriptors[1])
            for descriptor in descriptors { close(descriptor) }
        }
    }

    /// Where no process can be made the socket is closed without a frame, as after a death.
    private func start(_ file: Int32, _ output: Int32) {
        let server = getpid()
        guard linux_fork() == 0 else { return }
        // What it was to be told of may have happened before.
        guard seccomp_end_with_parent() == 0, getppid() == server else { _exit(2) }
        dup2(file, 0)
        dup2(output, 1)
        _ = linux_close_from(3)
        guard handOver() else { _exit(2) }
        inspector.inspectAndExit()
    }

    /// Before any frame comes a byte with a descriptor of this process: whoever waits for the frames can end it, whatever
    /// becomes of it.
    private func handOver() -> Bool {
        var process = linux_process_descriptor(getpid())
        guard process >= 0 else { return false }
        defer { close(process) }
        return linux_send_descriptors(1, &process, 1) == 0
    }
}
