import CLinux
import Glibc

/// The one thread that owns a process's sockets, connections and state, as a global actor.
///
/// Whatever is annotated `@Reactor` runs on the thread inside `Reactor.run()`, without locks. Hot paths are plain
/// synchronous calls from a descriptor's handler; `async` is for orchestration and starts with `Reactor.spawn`.
@globalActor
public actor Reactor {
    public static let shared = Reactor()
    static let loop = EventLoop()

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.loop.asUnownedSerialExecutor() }

    /// Turns the calling thread into the reactor until `stop()`.
    public nonisolated static func run() { loop.run() }

    /// Ends `run()` after the current turn. Callable from any thread.
    public nonisolated static func stop() { loop.stop() }

    /// Runs `body` at once: for code that the compiler cannot see is on the reactor, such as callbacks from C.
    public nonisolated static func assumeIsolated<Result>(_ body: @Reactor () throws -> Result) rethrows -> Result {
        precondition(loop.isCurrent, "only the reactor's thread may do this")
        return try withoutActuallyEscaping(body) { escaping in
            // The same as MainActor.assumeIsolated in the standard library: isolation is not part of a closure's layout.
            try unsafeBitCast(escaping, to: (() throws -> Result).self)()
        }
    }

    /// Starts asynchronous work on the reactor. With the executor preference a resumption costs 0.5 µs; without it
    /// every one would hop through the generic executor, 8–33 µs.
    @discardableResult
    public nonisolated static func spawn(_ body: @escaping @Reactor @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: loop) { await body() }
    }

    // MARK: Descriptors

    /// Calls `handler` whenever `descriptor` is ready for `interest`, until `forget`.
    @Reactor public static func watch(_ descriptor: CInt, for interest: Interest, handler: any DescriptorHandler) {
        loop.watch(descriptor, for: interest, handler: handler)
    }

    @Reactor public static func change(_ descriptor: CInt, to interest: Interest) {
        loop.change(descriptor, to: interest)
    }

    /// Must come before `close(descriptor)`: the number is used again at once.
    @Reactor public static func forget(_ descriptor: CInt) { loop.forget(descriptor) }

    // MARK: Time

    /// Runs `body` when the current turn has handled every ready descriptor, timer and job: the place to write what
    /// the turn collected.
    @Reactor public static func atEndOfTurn(_ body: @escaping @Reactor () -> Void) { loop.atEndOfTurn(body) }

    /// Runs `body` once, `delay` from now, at a resolution of one millisecond.
    @Reactor @discardableResult
    public static func after(_ delay: Duration, _ body: @escaping @Reactor () -> Void) -> TimerID {
        loop.work.timers.insert(at: MonotonicTime.now + delay, body)
    }

    /// Runs `body` every `interval`, measured from the end of one run to the start of the next.
    @Reactor public static func every(_ interval: Duration, _ body: @escaping @Reactor () -> Void) {
        after(interval) {
            body()
            every(interval, body)
        }
    }

    @Reactor public static func cancel(_ timer: TimerID) { loop.work.timers.cancel(timer) }

    /// Suspends for `delay` on a timer of the reactor (`Task.sleep` would wake up on another thread).
    @Reactor public static func sleep(for delay: Duration) async {
        await withUnsafeContinuation { continuation in
            after(delay) { continuation.resume() }
        }
    }

    /// Runs `body` on the reactor whenever the process gets `signal`. Call before any thread is started, so that no
    /// other thread takes the signal.
    @Reactor public static func onSignal(_ signal: CInt, _ body: @escaping @Reactor () -> Void) {
        loop.signals.add(signal, body)
    }
}

/// What a descriptor is watched for.
public struct Interest: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let read = Interest(rawValue: EPOLLIN.rawValue)
    public static let write = Interest(rawValue: EPOLLOUT.rawValue)
}

/// What a descriptor is ready for. `hangup` and `failure` come without being asked for (epoll_ctl(2)).
public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let read = Readiness(rawValue: EPOLLIN.rawValue)
    public static let write = Readiness(rawValue: EPOLLOUT.rawValue)
    public static let hangup = Readiness(rawValue: EPOLLHUP.rawValue)
    public static let failure = Readiness(rawValue: EPOLLERR.rawValue)
}

@Reactor
public protocol DescriptorHandler: AnyObject {
    func ready(_ readiness: Readiness)
}
