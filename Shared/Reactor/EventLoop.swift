import CLinux
import Glibc
import Synchronization

/// The epoll loop behind `Reactor`, and the executor of everything that runs on it.
///
/// A turn waits for descriptors, calls their handlers, runs due timers and jobs (steps of `async` functions), and then
/// the bodies deferred to its end. Jobs that enqueue more jobs get sixteen rounds a turn, so they cannot starve the
/// sockets.
final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    // @unchecked: `inbox`, `thread` and `stopping` are synchronised; everything else is used only on the loop's thread.
    private let epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
    private let wakeUp = eventfd(0, CInt(EFD_NONBLOCK) | CInt(EFD_CLOEXEC))
    private let thread = Atomic<UInt>(0)
    private let stopping = Atomic<Bool>(false)
    private let inbox = Mutex<[UnownedJob]>([])

    private var watched: [Watched] = []
    var work = Work()
    let signals = SignalSource()

    /// Work that does not depend on a ready descriptor.
    struct Work {
        var jobs: [UnownedJob] = []
        var deferred: [@Reactor () -> Void] = []
        var timers = TimerHeap()
    }

    /// One watched descriptor. The generation travels through epoll with the descriptor's number. An event for a
    /// descriptor that was closed and reopened within the same burst of events carries the old generation and is
    /// dropped.
    private struct Watched {
        var handler: (any DescriptorHandler)?
        var generation: UInt32 = 0
    }

    private static let wakeUpTag = UInt64.max
    private static let eventsPerTurn = 512
    private static let jobRoundsPerTurn = 16

    init() {
        precondition(epoll >= 0 && wakeUp >= 0, "epoll_create1 or eventfd failed")
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.wakeUpTag))
        epoll_ctl(epoll, EPOLL_CTL_ADD, wakeUp, &event)
    }

    var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    // MARK: Executor

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            work.jobs.append(job)
        } else {
            let wasEmpty = inbox.withLock { inbox in
                inbox.append(job)
                return inbox.count == 1
            }
            if wasEmpty { eventfd_write(wakeUp, 1) }
        }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
    func checkIsolated() { precondition(isCurrent, "this must run on the reactor's thread") }
    func isIsolatingCurrentContext() -> Bool? { isCurrent }

    // MARK: Descriptors

    func watch(_ descriptor: CInt, for interest: Interest, handler: any DescriptorHandler) {
        let index = Int(descriptor)
        while watched.count <= index { watched.append(Watched()) }
        watched[index].generation &+= 1
        watched[index].handler = handler
        control(EPOLL_CTL_ADD, descriptor, interest)
    }

    func change(_ descriptor: CInt, to interest: Interest) { control(EPOLL_CTL_MOD, descriptor, interest) }

    func forget(_ descriptor: CInt) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
        watched[Int(descriptor)].handler = nil
        watched[Int(descriptor)].generation &+= 1
    }

    private func control(_ operation: CInt, _ descriptor: CInt, _ interest: Interest) {
        let tag = UInt64(watched[Int(descriptor)].generation) << 32 | UInt64(descriptor)
        var event = epoll_event(events: interest.rawValue, data: epoll_data_t(u64: tag))
        let result = epoll_ctl(epoll, operation, descriptor, &event)
        precondition(result == 0, "epoll_ctl(\(operation)) on descriptor \(descriptor) failed: errno \(errno)")
    }

    // MARK: Turns

    func atEndOfTurn(_ body: @escaping @Reactor () -> Void) { work.deferred.append(body) }

    func stop() {
        stopping.store(true, ordering: .relaxed)
        eventfd_write(wakeUp, 1)
    }

    func run() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        stopping.store(false, ordering: .relaxed)
        Reactor.assumeIsolated {
            let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: Self.eventsPerTurn)
            defer { events.deallocate() }
            while !stopping.load(ordering: .relaxed) { turn(events) }
        }
        thread.store(0, ordering: .relaxed)
    }

    @Reactor private func turn(_ events: UnsafeMutablePointer<epoll_event>) {
        let count = epoll_wait(epoll, events, CInt(Self.eventsPerTurn), waitMilliseconds())
        for index in 0..<max(0, Int(count)) { handle(events[index]) }
        runTimers()
        takeInbox()
        runJobs(rounds: Self.jobRoundsPerTurn)
        runDeferred()
    }

    private func waitMilliseconds() -> CInt {
        if !work.jobs.isEmpty || !work.deferred.isEmpty { return 0 }
        guard let next = work.timers.nextTime else { return -1 }
        // Rounded up: if woken early, the loop would spin until the timer is due.
        return CInt(clamping: ((next - .now).nanoseconds + 999_999) / 1_000_000)
    }

    @Reactor private func handle(_ event: epoll_event) {
        let tag = event.data.u64
        if tag == Self.wakeUpTag {
            var value: eventfd_t = 0
            eventfd_read(wakeUp, &value)
            return
        }
        let watched = watched[Int(tag & 0xFFFF_FFFF)]
        guard watched.generation == UInt32(truncatingIfNeeded: tag >> 32), let handler = watched.handler else { return }
        handler.ready(Readiness(rawValue: event.events))
    }

    @Reactor func runTimers() {
        guard work.timers.nextTime != nil else { return }
        let now = MonotonicTime.now
        while let body = work.timers.popDue(at: now) { body() }
    }

    private func takeInbox() {
        inbox.withLock { inbox in
            work.jobs.append(contentsOf: inbox)
            inbox.removeAll(keepingCapacity: true)
        }
    }

    func runJobs(rounds limit: Int) {
        var rounds = 0
        while !work.jobs.isEmpty, rounds < limit {
            let round = work.jobs
            work.jobs.removeAll(keepingCapacity: true)
            for job in round {
                job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            }
            rounds += 1
        }
    }

    @Reactor func runDeferred() {
        guard !work.deferred.isEmpty else { return }
        let bodies = work.deferred
        work.deferred.removeAll(keepingCapacity: true)
        for body in bodies { body() }
    }
}
