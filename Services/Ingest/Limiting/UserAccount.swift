import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// The limits of one user: the rate, and the requests in flight.
struct UserLimit: Sendable {
    let rate: TokenBucket.Rate
    /// The cost of the requests in flight, as in `CallCost`.
    let costInFlight: Int
    let bytesInFlight: Int

    func with(_ rate: TokenBucket.Rate) -> Self {
        Self(rate: rate, costInFlight: costInFlight, bytesInFlight: bytesInFlight)
    }
}

/// What a user may less whose account is new, as the claim `since` of their token says.
struct NewAccountLimit: Sendable {
    /// For how long an account is new.
    let age: Duration
    let rate: TokenBucket.Rate
    /// How many people they bring into conversations within a day. Enforced by the stores.
    let peoplePerDay: Int
}

/// The share of this process that one authenticated user takes.
@Reactor
final class UserAccount: RequestAccount {
    let user: UserID
    var limit: UserLimit
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

    /// Whether the account is in the state of a new one.
    func isFresh(at now: MonotonicTime) -> Bool {
        costInFlight == 0 && bytesInFlight == 0 && bucket.isFull(limit.rate, at: now)
    }

    // MARK: Paying

    /// Charges for a call by its head. The rest of its cost is charged when its content is known.
    /// - Parameter bodyBytes: as announced; 0 when the head gives no length.
    func pay(for call: Call, bodyBytes: Int, at now: MonotonicTime) throws(Problem) {
        try requireShare(of: weight(of: call), bytes: bodyBytes)
        try take(call.cost.of(0, bodyBytes: bodyBytes), at: now)
    }

    /// Charges for a body whose length the head did not announce.
    func pay(for call: Call, unannouncedBodyBytes bodyBytes: Int, at now: MonotonicTime) throws(Problem) {
        try take(call.cost.of(0, bodyBytes: bodyBytes), paid: call.cost.of(0), at: now)
    }

    /// Charges for the items of a call, beyond the cost already paid by its head.
    /// - Returns: the part of the user's share that the call takes until its response.
    func pay(for call: Call, items: Int, bodyBytes: Int, at now: MonotonicTime) throws(Problem) -> Int {
        let weight = weight(of: call, items: items)
        try requireShare(of: weight, bytes: 0)
        let paid = call.cost.of(0, bodyBytes: bodyBytes)
        try take(call.cost.of(items, bodyBytes: bodyBytes), paid: paid, at: now)
        return weight
    }

    /// Charges for what a call turned out to carry, beyond the KiB that its head paid for. It is carried out already: what follows waits.
    func charge(bytes: Int, at now: MonotonicTime) {
        if bytes >= 2 << 10 { bucket.charge(Double(bytes >> 10 - 1), limit.rate, at: now) }
    }

    /// The part of the user's share that a call takes: enough that at most `CallCost.atOnce` of them fit.
    func weight(of call: Call, items: Int = 0) -> Int {
        guard let atOnce = call.cost.atOnce else { return call.cost.of(items) }
        return max(1, limit.costInFlight / atOnce)
    }

    private func take(_ cost: Int, paid: Int = 0, at now: MonotonicTime) throws(Problem) {
        guard bucket.take(cost, paid: paid, limit.rate, at: now) else {
            throw Problem(.rateLimited, "more requests per second than a user may make")
        }
    }

    /// A user with nothing in flight may begin anything.
    private func requireShare(of weight: Int, bytes: Int) throws(Problem) {
        guard costInFlight == 0 || costInFlight + weight <= limit.costInFlight else {
            throw Problem(.rateLimited, "more requests at a time than a user may make")
        }
        guard hasShare(of: bytes) else { throw .tooManyBytes }
    }

    /// - Parameter held: bytes already held of the same body. The user's only body may be of any size.
    private func hasShare(of bytes: Int, behind held: Int = 0) -> Bool {
        bytes == 0 || bytesInFlight == held || bytesInFlight + bytes <= limit.bytesInFlight
    }

    // MARK: In flight

    /// Adds a request, which must `end` with the same weight and size.
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
        guard load.hasRoom(arrivingBytes: bodyBytes) else { return Refusal(.processOverloaded) }
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
    static var processOverloaded: Problem { Problem(.overloaded, "the server has too many requests in flight") }

    fileprivate static var tooManyBytes: Problem {
        Problem(.rateLimited, "more bytes at a time than a user may send")
    }
}
