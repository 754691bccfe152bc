import Reactor
import Wire

/// Bounds how many pages are being fetched at once, so that a thousand sessions that come back do not ask the stores a
/// thousand things at a time.
///
/// The others wait in lanes, one for each user and one for each stream that all its sessions wait for. Lanes take turns,
/// and each has a few fetches at once, so that nobody's many conversations or sessions keep everybody else waiting. Each
/// stream waits with a few fetches at most and each session with as many as its `Pace` lets it, which bounds the lanes.
@Reactor
final class FetchQueue {
    typealias Fetch = @Reactor (_ done: @escaping @Reactor () -> Void) -> Void

    private static let limit = 64

    private final class Lane {
        let key: StreamKey
        var waiting = FIFO<Fetch>()
        var running = 0
        var isQueued = false

        init(_ key: StreamKey) { self.key = key }
    }

    /// Fetches of one lane at once.
    private let share: Int
    private var lanes: [StreamKey: Lane] = [:]
    /// Those that wait and may have one more fetch at once, in the order of their turns.
    private var queue = FIFO<Lane>()
    private var running = 0
    private var isStarting = false

    init(share: Int = 8) { self.share = share }

    /// Runs a fetch for all who wait for a stream.
    func run(in key: StreamKey, _ fetch: @escaping Fetch) {
        let lane = lanes[key] ?? Lane(key)
        lanes[key] = lane
        lane.waiting.append(fetch)
        enqueue(lane)
        startWaiting()
    }

    /// Runs a fetch for a session, unless it has gone when its turn comes. Then nobody is told that it is done: whatever
    /// waits for that goes with the session.
    func run(for session: Session, _ fetch: @escaping Fetch) {
        run(in: .user(session.user)) { done in session.isLeaving ? done() : fetch(done) }
    }

    private func enqueue(_ lane: Lane) {
        guard !lane.isQueued, !lane.waiting.isEmpty, lane.running < share else { return }
        lane.isQueued = true
        queue.append(lane)
    }

    /// What is done at once lets the loop go on, and does not begin another one inside it.
    private func startWaiting() {
        guard !isStarting else { return }
        isStarting = true
        while running < Self.limit, let lane = queue.popFirst() { startNext(of: lane) }
        isStarting = false
    }

    private func startNext(of lane: Lane) {
        lane.isQueued = false
        guard let fetch = lane.waiting.popFirst() else { return }
        running += 1
        lane.running += 1
        enqueue(lane)
        fetch { [self] in
            running -= 1
            lane.running -= 1
            if lane.running == 0, lane.waiting.isEmpty { lanes[lane.key] = nil } else { enqueue(lane) }
            startWaiting()
        }
    }
}
