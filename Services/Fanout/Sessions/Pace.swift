import Edge
import Reactor

/// Lets a session that catches up fetch no faster than its client reads: what is fetched has to wait in the queue of the
/// WebSocket, and beyond its bound the client would be closed for being too slow.
@Reactor
final class Pace {
    /// Pages on their way at once. They may have 512 KiB each; the queue holds 4 MiB.
    private static let pageLimit = 4
    /// The same for answers of a few hundred bytes.
    static let statusLimit = 16
    /// With more bytes than this waiting for the client, nothing more is fetched.
    private static let congestion = 512 * 1024
    /// How often to look whether a congested client has read.
    private static let patience = Duration.milliseconds(20)

    private let socket: any SessionSocket
    private let limit: Int
    private var running = 0
    private var waiting: ContiguousArray<FetchQueue.Fetch> = []
    private var isLookingAgain = false

    init(_ socket: any SessionSocket, limit: Int = pageLimit) {
        self.socket = socket
        self.limit = limit
    }

    /// Runs `fetch` when it is its turn, never after `stop`.
    func run(_ fetch: @escaping FetchQueue.Fetch) {
        waiting.append(fetch)
        startWaiting()
    }

    func stop() { waiting = [] }

    private func startWaiting() {
        while running < limit, !waiting.isEmpty {
            guard socket.queuedBytes < Self.congestion else { return lookAgain() }
            running += 1
            // The latest first: the order between streams does not matter, and the end of an array is cheap.
            waiting.removeLast()({ [weak self] in self?.ended() })
        }
    }

    private func ended() {
        running -= 1
        startWaiting()
    }

    private func lookAgain() {
        guard !isLookingAgain else { return }
        isLookingAgain = true
        Reactor.after(Self.patience) { [weak self] in
            self?.isLookingAgain = false
            self?.startWaiting()
        }
    }
}
