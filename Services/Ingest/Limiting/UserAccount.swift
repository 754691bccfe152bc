import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// How much one user may ask for: how fast, and how much at a time.
struct UserLimit: Sendable {
    let rate: TokenBucket.Rate
    /// What waits for answers, as `CallCost` counts it.
    let costInFlight: Int
    let bytesInFlight: Int
}

/// What one user, known by a valid token, takes of this process at the moment.
@Reactor
final class UserAccount: RequestAccount {
    let user: UserID
    private let limit: UserLimit
    private let load: Load
    private var bucket: TokenBucket
    private(set) var costInFlight = 0
    private(set) var bytesInFlight = 0

    init(_ user: UserID, _ limit: UserLimit, _ load: Load, at now: MonotonicTime) {
        self.user = user
        self.limit = limit
        self.load = load
        bucket = TokenBucket(limit.rate, at: now)
    }

    /// Whether it says no more than a new one would.
    func isFresh(at now: MonotonicTime) -> Bool {
        costInFlight == 0 && bytesInFlight == 0 && bucket.isFull(limit.rate, at: now)
    }

    // MARK: Paying

    /// Pays for a call by its head; what else it costs is paid when its content is known.
    /// - Parameter bodyBytes: as announced; 0 when the head does not tell.
    func pay(for call: Call, bodyBytes: Int, at now: MonotonicTime) throws(Problem) {
        try requireShare(of: weight(of: call), bytes: bodyBytes)
        try take(call.cost.of(0, bodyBytes: bodyBytes), at: now)
    }

    /// Pays for a body whose size the head did not tell, now that it is there.
    func pay(for call: Call, unannouncedBodyBytes bodyBytes: Int, at now: MonotonicTime) throws(Problem) {
        try take(call.cost.of(0, bodyBytes: bodyBytes), paid: call.cost.of(0), at: now)
    }

    /// Pays what a call with so many items costs beyond what was paid for it without them.
    /// - Returns: what it takes of the share until its answer.
    func pay(for call: Call, items: Int, bodyBytes: Int, at now: MonotonicTime) throws(Problem) -> Int {
        let weight = weight(of: call, items: items)
        try requireShare(of: weight, bytes: 0)
        let paid = call.cost.of(0, bodyBytes: bodyBytes)
        try take(call.cost.of(items, bodyBytes: bodyBytes), paid: paid, at: now)
        return weight
    }

    /// What a call takes of the share of its user: so much that no more than `CallCost.atOnce` fit.
    func weight(of call: Call, items: Int = 0) -> Int {
        guard let atOnce = call.cost.atOnce else { return call.cost.of(items) }
        return max(1, limit.costInFlight / atOnce)
    }

    private func take(_ cost: Int, paid: Int = 0, at now: MonotonicTime) throws(Problem) {
        guard bucket.take(cost, paid: paid, limit.rate, at: now) else {
            throw Problem(.rateLimited, "more requests than a user may make")
        }
    }

    /// Who has nothing in flight may begin anything.
    private func requireShare(of weight: Int, bytes: Int) throws(Problem) {
        guard costInFlight == 0 || costInFlight + weight <= limit.costInFlight else {
            throw Problem(.rateLimited, "more requests at a time than a user may make")
        }
        guard hasShare(of: bytes) else { throw .tooManyBytes }
    }

    /// - Parameter held: bytes of the same body, which as the only one may be of any size.
    private func hasShare(of bytes: Int, behind held: Int = 0) -> Bool {
        bytes == 0 || bytesInFlight == held || bytesInFlight + bytes <= limit.bytesInFlight
    }

    // MARK: In flight

    /// Takes a request in, which must `end` with the same weight and size.
    func begin(weight: Int, bytes: Int) {
        costInFlight += weight
        bytesInFlight += bytes
        load.begin(bytes: bytes)
    }

    func end(weight: Int, bytes: Int) {
        costInFlight -= weight
        bytesInFlight -= bytes
        load.end(bytes: bytes)
    }

    // MARK: Bodies in arrival

    func hold(bodyBytes: Int, of held: Int) -> Refusal? {
        guard hasShare(of: bodyBytes, behind: held) else { return Refusal(.tooManyBytes) }
        guard load.hasRoom(arrivingBytes: bodyBytes) else { return Refusal(.tooMuchToDo) }
        bytesInFlight += bodyBytes
        load.arrived(bytes: bodyBytes)
        return nil
    }

    func release(bodyBytes: Int) {
        bytesInFlight -= bodyBytes
        load.endedArriving(bytes: bodyBytes)
    }
}

extension Problem {
    static var tooMuchToDo: Problem { Problem(.overloaded, "ingest has too much to do") }

    fileprivate static var tooManyBytes: Problem {
        Problem(.rateLimited, "more bytes at a time than a user may send")
    }
}
