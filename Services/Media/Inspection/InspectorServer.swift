import CLinux
import Glibc
import Reactor
import ServiceKit

/// Has files looked into, each by a process of its own, and starts the server that makes them when there is none.
@Reactor
final class Inspectors {
    private let configuration: InspectorConfiguration
    private let log: Log
    private var server: InspectorServer?

    init(_ configuration: InspectorConfiguration, log: Log) {
        self.configuration = configuration
        self.log = log
    }

    /// Nil if no process could be started.
    func start(reading file: OpenFile) -> InspectorProcess? {
        if let process = server?.start(reading: file) { return process }
        if server != nil { log.warning("media-inspector has ended and is started again") }
        server?.end()
        server = InspectorServer(configuration)
        return server?.start(reading: file)
    }
}

/// A process that has the libraries loaded, and makes of itself one for each file (`media-inspector --serve`). It sees no
/// byte of any.
///
/// It and those that it makes are a process group, which is killed at its end. They end by themselves when this process
/// does.
@Reactor
final class InspectorServer: DescriptorHandler {
    private let configuration: InspectorConfiguration
    private let process: pid_t
    private let socket: CInt
    private var isClosed = false

    /// Nil if it could not be started.
    init?(_ configuration: InspectorConfiguration) {
        guard let ends = Self.sockets(SOCK_SEQPACKET) else { return nil }
        defer { close(ends.other) }
        guard let process = Self.spawn(configuration, ends.other) else {
            close(ends.own)
            return nil
        }
        self.configuration = configuration
        self.process = process
        socket = ends.own
        Reactor.watch(socket, for: .read, handler: self)
    }

    private static func sockets(_ type: __socket_type) -> (own: CInt, other: CInt)? {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(type.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else { return nil }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }

    private static func spawn(_ configuration: InspectorConfiguration, _ input: CInt) -> pid_t? {
        var actions = posix_spawn_file_actions_t(), attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        for output in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
        }
        // The signals that this process takes from a descriptor are to end that one.
        var none = sigset_t(), all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var arguments = ([configuration.executable, "--serve"] + configuration.arguments).map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        // None of this process's variables: some hold secrets. With these symbols are looked up once, and not by the process
        // of each file; and what crashes ends, instead of waiting for a debugger whose report nobody would read.
        var environment = [strdup("LD_BIND_NOW=1"), strdup("SWIFT_BACKTRACE=enable=no"), nil]
        defer { environment.forEach { free($0) } }
        var process = pid_t()
        let result = posix_spawn(&process, configuration.executable, &actions, &attributes, &arguments, &environment)
        return result == 0 ? process : nil
    }

    /// Nil if it takes no file any more.
    func start(reading file: OpenFile) -> InspectorProcess? {
        guard !isClosed, let ends = Self.sockets(SOCK_STREAM) else { return nil }
        defer { close(ends.other) }
        guard linux_send_descriptors(socket, [file.descriptor, ends.other], 2) == 0 else {
            close(ends.own)
            return nil
        }
        return InspectorProcess(of: self, output: ends.own, deadline: configuration.deadline)
    }

    /// Whoever finds the end of one that it has made knows by this whether that was the end of all.
    var hasEnded: Bool { isClosed || linux_has_ended(process) != 0 }

    /// It says nothing before it ends.
    func ready(_: Readiness) { end() }

    func end() {
        guard !isClosed else { return }
        isClosed = true
        Reactor.forget(socket)
        close(socket)
        kill(-process, SIGKILL)
        reap()
    }

    /// A killed process may still be in the middle of a call. In a container those that it made are this process's now.
    private func reap() {
        var reaped: pid_t = 0
        repeat { reaped = waitpid(-process, nil, WNOHANG) } while reaped > 0
        if reaped == 0 { Reactor.after(.milliseconds(20)) { self.reap() } }
    }
}
