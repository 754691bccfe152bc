import CLinux
import Glibc
import Reactor

/// A process that looks into one file, which is its standard input, and what it writes to its standard output.
///
/// It has a process group of its own, which is killed at the end, whatever the process says.
@Reactor
final class InspectorProcess: DescriptorHandler {
    enum Output: Sendable {
        case bytes([UInt8])
        case end
        /// It took longer than its deadline.
        case late
    }

    private static let readBytes = 256 << 10

    private let process: pid_t
    private let output: CInt
    private var waiting: UnsafeContinuation<Output, Never>?
    private var isLate = false
    private var isClosed = false
    private var timer: TimerID?

    /// Nil if no process could be started.
    init?(_ configuration: InspectorConfiguration, reading file: OpenFile) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        defer { close(ends[1]) }
        output = ends[0]
        _ = fcntl(output, F_SETFL, O_NONBLOCK)
        _ = fcntl(output, F_SETFD, FD_CLOEXEC)
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        guard let process = Self.spawn(configuration, file.descriptor, ends[1]) else {
            close(output)
            return nil
        }
        self.process = process
        Reactor.watch(output, for: [], handler: self)
        timer = Reactor.after(configuration.deadline) { [weak self] in self?.isOverdue() }
    }

    private static func spawn(_ configuration: InspectorConfiguration, _ input: CInt, _ output: CInt) -> pid_t? {
        var actions = posix_spawn_file_actions_t(), attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        // The signals that this process takes from a descriptor are to end that one.
        var none = sigset_t(), all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var arguments = ([configuration.executable] + configuration.arguments).map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        // No variables: some hold secrets.
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        var process = pid_t()
        let result = posix_spawn(&process, configuration.executable, &actions, &attributes, &arguments, &environment)
        return result == 0 ? process : nil
    }

    /// The next bytes that it writes. One waits at a time.
    func next() async -> Output {
        await withUnsafeContinuation { continuation in
            waiting = continuation
            if isLate { return resume(.late) }
            Reactor.change(output, to: .read)
        }
    }

    func ready(_: Readiness) {
        guard waiting != nil else { return Reactor.change(output, to: []) }
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.readBytes) { buffer, used in
            count = read(output, buffer.baseAddress, Self.readBytes)
            used = max(0, count)
        }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        resume(count > 0 ? .bytes(bytes) : .end)
    }

    private func resume(_ output: Output) {
        if !isClosed { Reactor.change(self.output, to: []) }
        waiting.take()?.resume(returning: output)
    }

    private func isOverdue() {
        isLate = true
        kill(-process, SIGKILL)
        resume(.late)
    }

    /// Ends the process, if it has not ended itself.
    func end() {
        guard !isClosed else { return }
        isClosed = true
        if let timer { Reactor.cancel(timer) }
        Reactor.forget(output)
        close(output)
        kill(-process, SIGKILL)
        reap()
    }

    /// A killed process may still be in the middle of a call.
    private func reap() {
        let process = process
        guard waitpid(process, nil, WNOHANG) == 0 else { return }
        Reactor.after(.milliseconds(20)) { self.reap() }
    }
}
