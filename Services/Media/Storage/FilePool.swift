import CLinux
import Glibc
import Reactor
import Synchronization

/// A few threads for calls that wait for a disk, which the reactor's thread must not.
///
/// The queue has no bound of its own: each request that sends or reads a file has at most two calls in it, and those are
/// bounded (`UploadLimits.streams`).
final class FilePool: @unchecked Sendable {
    // @unchecked: `calls` is synchronised, the rest never changes.
    private typealias Call = @Sendable () -> Void

    private let calls = Mutex(FIFO<Call>())
    /// Counts the calls in the queue; the threads sleep in reading it.
    private let semaphore = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_SEMAPHORE))

    /// Its threads live as long as the process.
    init(threads: Int) {
        precondition(semaphore >= 0, "eventfd failed")
        for _ in 0..<threads {
            var thread = pthread_t()
            let result = pthread_create(
                &thread, nil,
                { pool in
                    Unmanaged<FilePool>.fromOpaque(pool!).takeUnretainedValue().work()
                    return nil
                }, Unmanaged.passRetained(self).toOpaque())
            precondition(result == 0, "a thread could not be started")
            pthread_detach(thread)
        }
    }

    /// The calls that no thread has begun.
    var waiting: Int { calls.withLock { $0.count } }

    /// Runs `body` on one of the threads.
    @Reactor func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Result, Never>) in
            calls.withLock { $0.append { continuation.resume(returning: body()) } }
            eventfd_write(semaphore, 1)
        }
    }

    private func work() {
        while true {
            var one: eventfd_t = 0
            guard eventfd_read(semaphore, &one) == 0 else { continue }  // Interrupted.
            calls.withLock { $0.popFirst() }?()
        }
    }
}
