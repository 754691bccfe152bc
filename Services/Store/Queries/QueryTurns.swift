import Reactor

/// Decides which requester has the next turn at the connections for queries. A turn is one statement, or a few in one
/// round trip.
///
/// Each requester has one turn at a time, and its other queries wait. Requesters are served round robin. Heavy turns,
/// which may read thousands of rows, have a separate round and never take more than half of the connections, so
/// light turns always find one. A requester whose last turn was long is also heavy, until a quick turn. It rests for
/// the length of that turn before its next query begins, so it gets at most half of one connection's time, however
/// often it asks.
///
/// A query that has begun holds the rows of its turns, so it continues before others of its requester begin. About two
/// of them hold rows at a time. It does not wait for a rest either: that could exceed its deadline and waste the work
/// done. The rests are made up for before the next query. This is a state machine without I/O.
struct QueryTurns {
    enum Weight { case light, heavy }

    /// Identifies one request for a turn.
    struct Ticket: Hashable {
        fileprivate let number: UInt64
    }

    struct Turn: Equatable {
        let ticket: Ticket
        let requester: Requester
        let connection: Int
    }

    /// A requester is heavy after a turn longer than this.
    static let longTurn = Duration.milliseconds(50)
    /// The longest rest, shorter than the deadline of a query.
    static let longestRest = Duration.seconds(2)
    /// The limit of requesters remembered as heavy. Beyond it all of them are forgotten.
    private static let slowLimit = 4_096

    private typealias Wish = (ticket: Ticket, weight: Weight)

    private struct Lane {
        /// Wishes of queries that have begun.
        var goingOn = FIFO<Wish>()
        var waiting = FIFO<Wish>()
        var isServed = false
        /// Whether the requester is in a ring.
        var isInLine = false
        /// No query begins before this time.
        var restsUntil: MonotonicTime?

        var isEmpty: Bool { goingOn.isEmpty && waiting.isEmpty }
        var next: Wish? { goingOn.first ?? (restsUntil == nil ? waiting.first : nil) }
    }

    private struct Station {
        var light = 0
        var isHeavy = false
        /// The time when it became free for its current turn.
        var since = MonotonicTime(nanoseconds: 0)
    }

    /// The light turns in flight on one connection, so that the next one is there when the one before ends.
    private let depth: Int
    private let heavyLimit: Int
    private var stations: [Station]
    private var lanes: [Requester: Lane] = [:]
    /// Requesters with a waiting turn and none in flight, by the weight of that turn.
    private var rings: [Weight: FIFO<Requester>] = [.light: FIFO(), .heavy: FIFO()]
    private var weights: [Ticket: Weight] = [:]
    private var slow: Set<Requester> = []
    private var wasHeavy = false
    private var lastNumber: UInt64 = 0

    init(connections: Int, depth: Int = 2) {
        stations = Array(repeating: Station(), count: connections)
        self.depth = depth
        heavyLimit = max(1, connections / 2)
    }

    /// The number of waiting turns.
    var waitingCount: Int { lanes.values.reduce(0) { $0 + $1.goingOn.count + $1.waiting.count } }

    /// - Parameter goesOn: this is not the first turn of its query.
    mutating func wait(_ requester: Requester, _ weight: Weight, goesOn: Bool = false) -> Ticket {
        lastNumber += 1
        let ticket = Ticket(number: lastNumber)
        if goesOn {
            lanes[requester, default: Lane()].goingOn.append((ticket, weight))
        } else {
            lanes[requester, default: Lane()].waiting.append((ticket, weight))
        }
        line(up: requester)
        return ticket
    }

    private mutating func line(up requester: Requester) {
        guard let lane = lanes[requester], !lane.isServed, !lane.isInLine, let next = lane.next else { return }
        lanes[requester]!.isInLine = true
        rings[weight(of: next, requester)]!.append(requester)
    }

    private func weight(of wish: Wish, _ requester: Requester) -> Weight {
        slow.contains(requester) ? .heavy : wish.weight
    }

    // MARK: Giving turns

    /// Returns the next turn; nil while none waits or no connection has room. Connections that are down get none.
    mutating func next(at now: MonotonicTime, isUp: (Int) -> Bool) -> Turn? {
        // Alternate heavy and light turns, so that neither starves the other.
        for weight in wasHeavy ? [Weight.light, .heavy] : [.heavy, .light] {
            guard !rings[weight]!.isEmpty, let connection = connection(for: weight, isUp) else { continue }
            return turn(weight, at: connection, now)
        }
        return nil
    }

    private mutating func turn(_ weight: Weight, at connection: Int, _ now: MonotonicTime) -> Turn? {
        guard let requester = rings[weight]!.popFirst(), let first = takeNext(of: requester, weight) else {
            preconditionFailure("who stands in a ring waits for a turn")
        }
        lanes[requester]!.isServed = true
        lanes[requester]!.isInLine = false
        weights[first.ticket] = weight
        wasHeavy = weight == .heavy
        if stations[connection].light == 0 && !stations[connection].isHeavy { stations[connection].since = now }
        switch weight {
        case .light: stations[connection].light += 1
        case .heavy: stations[connection].isHeavy = true
        }
        return Turn(ticket: first.ticket, requester: requester, connection: connection)
    }

    /// Takes the wish for which the requester is in this ring. If it begins a query, a continuation of the other weight
    /// may have arrived since. If it continues one, the requester may no longer be remembered as heavy.
    private mutating func takeNext(of requester: Requester, _ weight: Weight) -> Wish? {
        let lane = lanes[requester]!
        let canBegin = !lane.waiting.isEmpty && lane.restsUntil == nil
        if let first = lane.goingOn.first, !canBegin || self.weight(of: first, requester) == weight {
            return lanes[requester]!.goingOn.popFirst()
        }
        return lanes[requester]!.waiting.popFirst()
    }

    /// Returns the least busy connection. Nothing is queued after a heavy turn.
    private func connection(for weight: Weight, _ isUp: (Int) -> Bool) -> Int? {
        if weight == .heavy, stations.count(where: \.isHeavy) >= heavyLimit { return nil }
        return stations.indices
            .filter { isUp($0) && !stations[$0].isHeavy && stations[$0].light < depth }
            .min { stations[$0].light < stations[$1].light }
    }

    /// Ends a turn, whatever its outcome.
    ///
    /// - Returns: the end of the requester's rest, if it has to rest. Call `rested` at that time.
    mutating func ended(_ turn: Turn, at now: MonotonicTime) -> MonotonicTime? {
        guard let weight = weights.removeValue(forKey: turn.ticket) else {
            preconditionFailure("a turn ends once")
        }
        let took = now - stations[turn.connection].since
        note(turn.requester, took: took)
        switch weight {
        case .light: stations[turn.connection].light -= 1
        case .heavy: stations[turn.connection].isHeavy = false
        }
        stations[turn.connection].since = now
        lanes[turn.requester]!.isServed = false
        if took > Self.longTurn, turn.requester != .service {
            let rested = max(lanes[turn.requester]!.restsUntil ?? now, now) + took
            lanes[turn.requester]!.restsUntil = min(rested, now + Self.longestRest)
        }
        lineUpOrForget(turn.requester)
        return took > Self.longTurn ? lanes[turn.requester]?.restsUntil : nil
    }

    /// Notes that the rest of a requester may be over.
    mutating func rested(_ requester: Requester, at now: MonotonicTime) {
        guard let end = lanes[requester]?.restsUntil, end <= now else { return }
        lanes[requester]!.restsUntil = nil
        lineUpOrForget(requester)
    }

    private mutating func lineUpOrForget(_ requester: Requester) {
        guard let lane = lanes[requester] else { return }
        if lane.isEmpty, !lane.isServed, lane.restsUntil == nil { lanes[requester] = nil } else { line(up: requester) }
    }

    private mutating func note(_ requester: Requester, took duration: Duration) {
        guard duration > Self.longTurn else {
            slow.remove(requester)
            return
        }
        if slow.count >= Self.slowLimit { slow = [] }
        slow.insert(requester)
    }

    /// Ends all waits. Returns the tickets in no order.
    mutating func dismissAll() -> [Ticket] {
        defer {
            rings = [.light: FIFO(), .heavy: FIFO()]
            for (requester, lane) in lanes { lanes[requester] = lane.isServed ? Lane(isServed: true) : nil }
        }
        return lanes.values.flatMap { $0.goingOn.map(\.ticket) + $0.waiting.map(\.ticket) }
    }
}
