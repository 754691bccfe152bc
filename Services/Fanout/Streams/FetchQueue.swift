import Reactor
import Wire

/// Bounds the number of fetches in flight, so that a thousand reconnecting sessions do not send a thousand queries at a
/// time.
///
/// Further fetches wait in lanes: one for each user, and one for each stream for what all its sessions need. Lanes take
/// turns, and each has a few fetches in flight, so no user's conversations or sessions keep the others waiting. A
/// stream queues few fetches, and a session as many as its `Pace` allows, which bounds the lanes.
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

    /// The most fetches of one lane in flight.
    private let share: Int
    private var lanes: [StreamKey: Lane] = [:]
    /// Lanes that have waiting fetches and may start one, in the order of their turns.
    private var queue = FIFO<Lane>()
    private var running = 0
    private var isStarting = false

    init(share: Int = 8) { self.share = share }

    /// Runs a fetch for all sessions of a stream.
    func run(in key: StreamKey, _ fetch: @escaping Fetch) {
        let lane = lanes[key] ?? Lane(key)
        lanes[key] = lane
        lane.waiting.append(fetch)
        enqueue(lane)
        startWaiting()
    }

    /// Runs a fetch for a session, unless the session has ended when its turn comes. Then its completion is never
    /// called: whatever waits for it ends with the session.
    func run(for session: Session, _ fetch: @escaping Fetch) {
        run(in: .user(session.user)) { done in session.isLeaving ? done() : fetch(done) }
    }

    private func enqueue(_ lane: Lane) {
        guard !lane.isQueued, !lane.waiting.isEmpty, lane.running < share else { return }
        lane.isQueued = true
        queue.append(lane)
    }

    /// Starts waiting fetches. A fetch that completes at once continues the running loop instead of starting a nested
    /// one.
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
