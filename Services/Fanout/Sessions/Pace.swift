import Edge
import Reactor

/// Limits the fetches of a session that catches up to the pace at which its client reads. Fetched pages wait in the
/// queue of the WebSocket, which closes a client that is too slow.
@Reactor
final class Pace {
    /// The most pages in flight. A page may have 512 KiB; the queue holds 4 MiB.
    private static let pageLimit = 4
    /// The same for responses of a few hundred bytes.
    static let statusLimit = 16
    /// The queued bytes above which nothing more is fetched.
    private static let congestion = 512 * 1024
    /// How often to check whether a congested client has read.
    private static let retryInterval = Duration.milliseconds(20)

    private let socket: any SessionSocket
    private let limit: Int
    private var running = 0
    private var waiting: ContiguousArray<FetchQueue.Fetch> = []
    private var isRetryScheduled = false

    init(_ socket: any SessionSocket, limit: Int = pageLimit) {
        self.socket = socket
        self.limit = limit
    }

    /// Runs `fetch` in its turn, unless `stop` comes first.
    func run(_ fetch: @escaping FetchQueue.Fetch) {
        waiting.append(fetch)
        startWaiting()
    }

    func stop() { waiting = [] }

    private func startWaiting() {
        while running < limit, !waiting.isEmpty {
            guard socket.queuedBytes < Self.congestion else { return retryLater() }
            running += 1
            // The latest first: streams need no order, and removing from the end of an array is cheap.
            waiting.removeLast()({ [weak self] in self?.ended() })
        }
    }

    private func ended() {
        running -= 1
        startWaiting()
    }

    private func retryLater() {
        guard !isRetryScheduled else { return }
        isRetryScheduled = true
        Reactor.after(Self.retryInterval) { [weak self] in
            self?.isRetryScheduled = false
            self?.startWaiting()
        }
    }
}
