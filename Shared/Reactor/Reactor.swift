import CLinux
import Glibc

/// The one thread that owns a process's sockets, connections and state, as a global actor.
///
/// Code annotated `@Reactor` runs on the thread inside `Reactor.run()`, without locks. Hot paths are synchronous calls
/// from a descriptor's handler; `async` is for orchestration and starts with `Reactor.spawn`.
@globalActor
public actor Reactor {
    public static let shared = Reactor()
    static let loop = EventLoop()

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.loop.asUnownedSerialExecutor() }

    /// Runs the reactor on the calling thread until `stop()`.
    public nonisolated static func run() { loop.run() }

    /// Ends `run()` after the current turn. Any thread may call it.
    public nonisolated static func stop() { loop.stop() }

    /// Runs `body` at once, for code that runs on the reactor without the compiler's knowledge, such as callbacks from
    /// C.
    public nonisolated static func assumeIsolated<Result>(_ body: @Reactor () throws -> Result) rethrows -> Result {
        precondition(loop.isCurrent, "this must run on the reactor's thread")
        return try withoutActuallyEscaping(body) { escaping in
            // As MainActor.assumeIsolated in the standard library: isolation is not part of a closure's layout.
            try unsafeBitCast(escaping, to: (() throws -> Result).self)()
        }
    }

    /// Starts asynchronous work on the reactor. With the executor preference a resumption costs 0.5 µs; without it each
    /// one would hop through the generic executor, 8–33 µs.
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

    /// Stops watching. Call it before `close(descriptor)`: the system reuses the number at once.
    @Reactor public static func forget(_ descriptor: CInt) { loop.forget(descriptor) }

    // MARK: Time

    /// Runs `body` when the current turn has handled every ready descriptor, timer and job. Write collected output
    /// there.
    @Reactor public static func atEndOfTurn(_ body: @escaping @Reactor () -> Void) { loop.atEndOfTurn(body) }

    /// Runs `body` once, `delay` from now, with a resolution of one millisecond.
    @Reactor @discardableResult
    public static func after(_ delay: Duration, _ body: @escaping @Reactor () -> Void) -> TimerID {
        loop.work.timers.insert(at: MonotonicTime.now + delay, body)
    }

    /// Runs `body` repeatedly, with `interval` between the end of one run and the start of the next.
    @Reactor public static func every(_ interval: Duration, _ body: @escaping @Reactor () -> Void) {
        after(interval) {
            body()
            every(interval, body)
        }
    }

    @Reactor public static func cancel(_ timer: TimerID) { loop.work.timers.cancel(timer) }

    /// Suspends for `delay` on a timer of the reactor (`Task.sleep` would resume on another thread).
    @Reactor public static func sleep(for delay: Duration) async {
        await withUnsafeContinuation { continuation in
            after(delay) { continuation.resume() }
        }
    }

    /// Runs `body` on the reactor whenever the process receives `signal`. Call it before any thread is started, so that
    /// no other thread takes the signal.
    @Reactor public static func onSignal(_ signal: CInt, _ body: @escaping @Reactor () -> Void) {
        loop.signals.add(signal, body)
    }
}

/// The events that a descriptor is watched for.
public struct Interest: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let read = Interest(rawValue: EPOLLIN.rawValue)
    public static let write = Interest(rawValue: EPOLLOUT.rawValue)
}

/// The events that a descriptor is ready for. `hangup` and `failure` are always reported (epoll_ctl(2)).
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
