import Reactor

/// Who of those that wait has the next turn at the connections of the queries: one statement, or a few in one round trip.
///
/// Each asker has one turn at a time; its others wait behind it. The askers go round. Heavy turns, those that may read
/// thousands of rows, go round among themselves and never have more than half of the connections, so that the light ones
/// always find one. An asker whose last turn took long is heavy, too, until a quick one. A state machine without I/O.
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
    /// Askers that are remembered to be heavy; when there are more, all of them are forgotten.
    private static let slowLimit = 4_096

    private struct Lane {
        var waiting = FIFO<(ticket: Ticket, weight: Weight)>()
        var isServed = false
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
    var waitingCount: Int { lanes.values.reduce(0) { $0 + $1.waiting.count } }

    mutating func wait(_ asker: Asker, _ weight: Weight) -> Ticket {
        lastNumber += 1
        let ticket = Ticket(number: lastNumber)
        lanes[asker, default: Lane()].waiting.append((ticket, weight))
        if lanes[asker]!.waiting.count == 1, !lanes[asker]!.isServed { line(up: asker) }
        return ticket
    }

    private mutating func line(up asker: Asker) {
        guard let first = lanes[asker]?.waiting.first else { return }
        rings[slow.contains(asker) ? .heavy : first.weight]!.append(asker)
    }

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
        guard let asker = rings[weight]!.popFirst(), let first = lanes[asker]!.waiting.popFirst() else {
            preconditionFailure("who stands in a ring waits for a turn")
        }
        lanes[asker]!.isServed = true
        weights[first.ticket] = weight
        wasHeavy = weight == .heavy
        if stations[connection].light == 0 && !stations[connection].isHeavy { stations[connection].since = now }
        switch weight {
        case .light: stations[connection].light += 1
        case .heavy: stations[connection].isHeavy = true
        }
        return Turn(ticket: first.ticket, asker: asker, connection: connection)
    }

    /// The least busy one. Nothing goes behind a heavy turn.
    private func connection(for weight: Weight, _ isUp: (Int) -> Bool) -> Int? {
        if weight == .heavy, stations.count(where: \.isHeavy) >= heavyLimit { return nil }
        return stations.indices
            .filter { isUp($0) && !stations[$0].isHeavy && stations[$0].light < depth }
            .min { stations[$0].light < stations[$1].light }
    }

    /// A turn has ended, however it did.
    mutating func ended(_ turn: Turn, at now: MonotonicTime) {
        guard let weight = weights.removeValue(forKey: turn.ticket) else {
            preconditionFailure("a turn ends once")
        }
        note(turn.asker, took: now - stations[turn.connection].since)
        switch weight {
        case .light: stations[turn.connection].light -= 1
        case .heavy: stations[turn.connection].isHeavy = false
        }
        stations[turn.connection].since = now
        lanes[turn.asker]!.isServed = false
        if lanes[turn.asker]!.waiting.isEmpty { lanes[turn.asker] = nil } else { line(up: turn.asker) }
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
            for asker in Array(lanes.keys) {
                lanes[asker]!.waiting = FIFO()
                if !lanes[asker]!.isServed { lanes[asker] = nil }
            }
        }
        return lanes.values.flatMap { $0.waiting.map(\.ticket) }
    }
}
