import Reactor

/// Bounds how many pages are being fetched at once, so that a thousand sessions that come back do not ask the stores a
/// thousand things at a time. The others wait in the order they came; each stream and each session waits with at most
/// one fetch, which bounds the queue.
@Reactor
final class FetchQueue {
    typealias Fetch = @Reactor (_ done: @escaping @Reactor () -> Void) -> Void

    private static let limit = 64

    private var running = 0
    private var waiting = FIFO<Fetch>()

    func run(_ fetch: @escaping Fetch) {
        waiting.append(fetch)
        startWaiting()
    }

    private func startWaiting() {
        while running < Self.limit, let fetch = waiting.popFirst() {
            running += 1
            fetch { [self] in
                running -= 1
                startWaiting()
            }
        }
    }
}
