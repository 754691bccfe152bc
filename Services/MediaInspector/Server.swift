import CLinux
import CSeccomp
import Glibc

/// Looks into one file after the other, or many at once, each in a process of its own that is made by `fork`: starting the
/// libraries takes longer than looking into a small picture.
///
/// On descriptor 0 is a Unix socket. Each message brings two descriptors (SCM_RIGHTS): the file, and the pipe for frames. The
/// server itself looks at no byte of a file. It ends when the other side of the socket is closed, and its children with it.
struct Server {
    let inspector: Inspector

    func run() -> Never {
        signal(SIGCHLD, SIG_IGN)  // Nobody waits for them: the end of their frames says that they have ended.
        var file: Int32 = -1
        var output: Int32 = -1
        while true {
            let received = linux_receive_two_descriptors(0, &file, &output)
            if received == 0 { exit(0) }
            guard received > 0 else {
                precondition(errno == EINTR || errno == 0, "the socket on descriptor 0 fails")
                continue
            }
            start(file, output)
            close(file)
            close(output)
        }
    }

    /// Where no process can be made the pipe is closed without a frame, as after a death.
    private func start(_ file: Int32, _ output: Int32) {
        guard linux_fork() == 0 else { return }
        _ = seccomp_end_with_parent()
        dup2(file, 0)
        dup2(output, 1)
        _ = linux_close_from(3)
        inspector.inspectAndExit()
    }
}
