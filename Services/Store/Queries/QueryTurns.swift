import Reactor

/// Who of those that wait has the next turn at the connections of the queries: one statement, or a few in one round trip.
///
/// Each asker has one turn at a time; its others wait behind it. The askers go round. Heavy turns, those that may read
/// thousands of rows, go round among themselves and never have more than half of the connections, so that the light ones
/// always find one. An asker whose last turn took long is heavy, too, until a quick one, and rests as long as that took
/// before the next of its queries begins: it has no more than half of one connection's time, however often it asks.
///
/// A query that has begun holds the rows of its turns, so it goes on before others of its asker begin: about two of them
/// hold any. It does not wait for a rest, either, which would bring it to its deadline, with all that was done for it
/// wasted. The rests are made up for before the next one. A state machine without I/O.
struct QueryTurns {
    enum Weight { case light, heavy }

    /// Stands for one wish for a turn.
    struct Ticket: Hashable {
        fileprivate let number: UInt64
    }

    struct Turn: Equatable {
        let ticket: Ticket
        let asker: Asker
        let connection: Int
    }

    /// Whose turn took longer is heavy from then on.
    static let longTurn = Duration.milliseconds(50)
    /// The longest rest: less than a query has until its deadline.
    static let longestRest = Duration.seconds(2)
    /// Askers that are remembered to be heavy; when there are more, all of them are forgotten.
    private static let slowLimit = 4_096

    private typealias Wish = (ticket: Ticket, weight: Weight)

    private struct Lane {
        /// Of queries that have begun.
        var goingOn = FIFO<Wish>()
        var waiting = FIFO<Wish>()
        var isServed = false
        /// Stands in a ring.
        var isInLine = false
        /// No query begins before then.
        var restsUntil: MonotonicTime?

        var isEmpty: Bool { goingOn.isEmpty && waiting.isEmpty }
        var next: Wish? { goingOn.first ?? (restsUntil == nil ? waiting.first : nil) }
    }

    private struct Station {
        var light = 0
        var isHeavy = false
        /// When it was free for the turn that it has now.
        var since = MonotonicTime(nanoseconds: 0)
    }

    /// Light turns on their way at one connection: the next one is there when the one before ends.
    private let depth: Int
    private let heavyLimit: Int
    private var stations: [Station]
    private var lanes: [Asker: Lane] = [:]
    /// Askers with a turn to wait for and none under way, by the weight of that turn.
    private var rings: [Weight: FIFO<Asker>] = [.light: FIFO(), .heavy: FIFO()]
    private var weights: [Ticket: Weight] = [:]
    private var slow: Set<Asker> = []
    private var wasHeavy = false
    private var lastNumber: UInt64 = 0

    init(connections: Int, depth: Int = 2) {
        stations = Array(repeating: Station(), count: connections)
        self.depth = depth
        heavyLimit = max(1, connections / 2)
    }

    /// Turns that are waited for.
    var waitingCount: Int { lanes.values.reduce(0) { $0 + $1.goingOn.count + $1.waiting.count } }

    /// - Parameter goesOn: it is not the first turn of its query.
    mutating func wait(_ asker: Asker, _ weight: Weight, goesOn: Bool = false) -> Ticket {
        lastNumber += 1
        let ticket = Ticket(number: lastNumber)
        if goesOn {
            lanes[asker, default: Lane()].goingOn.append((ticket, weight))
        } else {
            lanes[asker, default: Lane()].waiting.append((ticket, weight))
        }
        line(up: asker)
        return ticket
    }

    private mutating func line(up asker: Asker) {
        guard let lane = lanes[asker], !lane.isServed, !lane.isInLine, let next = lane.next else { return }
        lanes[asker]!.isInLine = true
        rings[weight(of: next, asker)]!.append(asker)
    }

    private func weight(of wish: Wish, _ asker: Asker) -> Weight { slow.contains(asker) ? .heavy : wish.weight }

    // MARK: Giving turns

    /// The next turn, nil while nobody waits or no connection has room. Connections that are not up get none.
    mutating func next(at now: MonotonicTime, isUp: (Int) -> Bool) -> Turn? {
        // Heavy and light ones in turn, so that neither waits for the other's end.
        for weight in wasHeavy ? [Weight.light, .heavy] : [.heavy, .light] {
            guard !rings[weight]!.isEmpty, let connection = connection(for: weight, isUp) else { continue }
            return turn(weight, at: connection, now)
        }
        return nil
    }

    private mutating func turn(_ weight: Weight, at connection: Int, _ now: MonotonicTime) -> Turn? {
        guard let asker = rings[weight]!.popFirst(), let first = takeNext(of: asker, weight) else {
            preconditionFailure("who stands in a ring waits for a turn")
        }
        lanes[asker]!.isServed = true
        lanes[asker]!.isInLine = false
        weights[first.ticket] = weight
        wasHeavy = weight == .heavy
        if stations[connection].light == 0 && !stations[connection].isHeavy { stations[connection].since = now }
        switch weight {
        case .light: stations[connection].light += 1
        case .heavy: stations[connection].isHeavy = true
        }
        return Turn(ticket: first.ticket, asker: asker, connection: connection)
    }

    /// What the asker stands in this ring for. Where that is the beginning of a query, one that goes on may have come since,
    /// of the other weight; and where one goes on, its asker may have been forgotten to be heavy.
    private mutating func takeNext(of asker: Asker, _ weight: Weight) -> Wish? {
        let lane = lanes[asker]!
        let canBegin = !lane.waiting.isEmpty && lane.restsUntil == nil
        if let first = lane.goingOn.first, !canBegin || self.weight(of: first, asker) == weight {
            return lanes[asker]!.goingOn.popFirst()
        }
        return lanes[asker]!.waiting.popFirst()
    }

    /// The least busy one. Nothing goes behind a heavy turn.
    private func connection(for weight: Weight, _ isUp: (Int) -> Bool) -> Int? {
        if weight == .heavy, stations.count(where: \.isHeavy) >= heavyLimit { return nil }
        return stations.indices
            .filter { isUp($0) && !stations[$0].isHeavy && stations[$0].light < depth }
            .min { stations[$0].light < stations[$1].light }
    }

    /// A turn has ended, however it did.
    ///
    /// - Returns: when the asker has rested, if it is to rest. Call `rested` then.
    mutating func ended(_ turn: Turn, at now: MonotonicTime) -> MonotonicTime? {
        guard let weight = weights.removeValue(forKey: turn.ticket) else {
            preconditionFailure("a turn ends once")
        }
        let took = now - stations[turn.connection].since
        note(turn.asker, took: took)
        switch weight {
        case .light: stations[turn.connection].light -= 1
        case .heavy: stations[turn.connection].isHeavy = false
        }
        stations[turn.connection].since = now
        lanes[turn.asker]!.isServed = false
        if took > Self.longTurn, turn.asker != .service {
            let rested = max(lanes[turn.asker]!.restsUntil ?? now, now) + took
            lanes[turn.asker]!.restsUntil = min(rested, now + Self.longestRest)
        }
        lineUpOrForget(turn.asker)
        return took > Self.longTurn ? lanes[turn.asker]?.restsUntil : nil
    }

    /// The rest of an asker may be over.
    mutating func rested(_ asker: Asker, at now: MonotonicTime) {
        guard let end = lanes[asker]?.restsUntil, end <= now else { return }
        lanes[asker]!.restsUntil = nil
        lineUpOrForget(asker)
    }

    private mutating func lineUpOrForget(_ asker: Asker) {
        guard let lane = lanes[asker] else { return }
        if lane.isEmpty, !lane.isServed, lane.restsUntil == nil { lanes[asker] = nil } else { line(up: asker) }
    }

    private mutating func note(_ asker: Asker, took duration: Duration) {
        guard duration > Self.longTurn else {
            slow.remove(asker)
            return
        }
        if slow.count >= Self.slowLimit { slow = [] }
        slow.insert(asker)
    }

    /// Nobody waits any more: those who did, in no order.
    mutating func dismissAll() -> [Ticket] {
        defer {
            rings = [.light: FIFO(), .heavy: FIFO()]
            for (asker, lane) in lanes { lanes[asker] = lane.isServed ? Lane(isServed: true) : nil }
        }
        return lanes.values.flatMap { $0.goingOn.map(\.ticket) + $0.waiting.map(\.ticket) }
    }
}
