import Reactor

/// The memory that clients whose token nobody has seen yet may have, all together: bytes of a `hello` that has not arrived
/// as a whole. A hello may be large, and anybody may begin one.
///
/// What is decided when it is used up: a hello of the usual size gets in, and whoever has had memory the longest gives
/// way, the large ones first. A large one does not push out others of its kind, or a crowd that comes back would never
/// get anywhere; only those that have been at it for so long that they would rather keep the place than use it.
struct StrangerBudget<Stranger: AnyObject> {
    /// A hello up to here is never refused.
    static var smallBytes: Int { 64 * 1024 }
    /// A large hello that takes longer gives way to another one.
    static var patience: Duration { .seconds(2) }

    private struct Holding {
        let stranger: Stranger
        var bytes: Int
        /// Bytes of the whole hello, as far as that is known.
        var announced: Int
        let since: MonotonicTime
        let ticket: UInt64
        var isLarge: Bool { max(bytes, announced) > StrangerBudget.smallBytes }
    }

    private struct Place {
        weak var stranger: Stranger?
        let ticket: UInt64
    }

    let limit: Int
    private(set) var used = 0
    private var holdings: [ObjectIdentifier: Holding] = [:]
    /// In the order in which they began, with places that nobody has any more.
    private var small = FIFO<Place>()
    private var large = FIFO<Place>()
    private var lastTicket: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    /// Takes in how many bytes are held for a stranger now, and how many they have announced: a large hello is large from
    /// its first bytes on.
    ///
    /// - Returns: who has to go so that the budget is kept; possibly the stranger themselves. They have been taken out.
    mutating func hold(
        _ bytes: Int, of announced: Int = 0, for stranger: Stranger, at now: MonotonicTime
    ) -> [Stranger] {
        let id = ObjectIdentifier(stranger)
        guard bytes > 0 else {
            release(stranger)
            return []
        }
        let before = holdings[id]
        used += bytes - (before?.bytes ?? 0)
        let wasLarge = before?.isLarge ?? false
        var holding = before ?? makeHolding(stranger, since: now)
        (holding.bytes, holding.announced) = (bytes, announced)
        holdings[id] = holding
        let place = Place(stranger: stranger, ticket: holding.ticket)
        if before == nil { small.append(place) }
        if holding.isLarge, !wasLarge { large.append(place) }
        prune()
        return makeRoom(for: holding, at: now)
    }

    mutating func release(_ stranger: Stranger) {
        guard let holding = holdings.removeValue(forKey: ObjectIdentifier(stranger)) else { return }
        used -= holding.bytes
        // Drops the places in front that nobody has any more.
        prune()
    }

    private mutating func prune() {
        while let place = small.first, holding(at: place) == nil { _ = small.popFirst() }
        while let place = large.first, holding(at: place) == nil { _ = large.popFirst() }
    }

    private mutating func makeHolding(_ stranger: Stranger, since now: MonotonicTime) -> Holding {
        lastTicket += 1
        return Holding(stranger: stranger, bytes: 0, announced: 0, since: now, ticket: lastTicket)
    }

    private mutating func makeRoom(for holding: Holding, at now: MonotonicTime) -> [Stranger] {
        var gone: [Stranger] = []
        while used > limit {
            // The places in front are somebody's.
            let place = large.first ?? (holding.isLarge ? nil : small.first)
            let next = place.flatMap(self.holding)
            let mayGo = next.map { !holding.isLarge || now - $0.since >= Self.patience } ?? false
            let leaver = mayGo ? next!.stranger : holding.stranger
            release(leaver)
            gone.append(leaver)
            if leaver === holding.stranger { break }
        }
        return gone
    }

    /// Who has been in a queue the longest and still holds memory.
    private func holding(at place: Place) -> Holding? {
        guard let stranger = place.stranger, let holding = holdings[ObjectIdentifier(stranger)],
            holding.ticket == place.ticket
        else { return nil }
        return holding
    }
}
