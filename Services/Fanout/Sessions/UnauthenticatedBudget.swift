import Reactor

/// The memory budget of all unauthenticated connections together: the bytes of incomplete `hello` messages. A hello may
/// be large, and anybody may begin one.
///
/// When it is used up, a hello of the usual size gets in, and the connection that has held memory the longest gives
/// way, large ones first. A large hello does not displace others of its kind, or a reconnecting crowd would never make
/// progress; it displaces only those that have taken longer than `patience`.
struct UnauthenticatedBudget<Connection: AnyObject> {
    /// A hello up to this many bytes is never refused.
    static var smallBytes: Int { 64 * 1024 }
    /// A large hello that takes longer than this gives way to another one.
    static var patience: Duration { .seconds(2) }

    private struct Holding {
        let connection: Connection
        var bytes: Int
        /// Bytes of the whole hello, as far as announced.
        var announced: Int
        let since: MonotonicTime
        let ticket: UInt64
        var isLarge: Bool { max(bytes, announced) > UnauthenticatedBudget.smallBytes }
    }

    private struct Entry {
        weak var connection: Connection?
        let ticket: UInt64
    }

    let limit: Int
    private(set) var used = 0
    private var holdings: [ObjectIdentifier: Holding] = [:]
    /// In the order in which they began. Entries of released holdings are skipped.
    private var small = FIFO<Entry>()
    private var large = FIFO<Entry>()
    private var lastTicket: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    /// Sets how many bytes are held for a connection, and how many it has announced: a large hello counts as large from
    /// its first bytes on.
    ///
    /// - Returns: the connections to close so that the budget is kept, possibly the given one. They have been released.
    mutating func hold(
        _ bytes: Int, of announced: Int = 0, for connection: Connection, at now: MonotonicTime
    ) -> [Connection] {
        let id = ObjectIdentifier(connection)
        guard bytes > 0 else {
            release(connection)
            return []
        }
        let before = holdings[id]
        used += bytes - (before?.bytes ?? 0)
        let wasLarge = before?.isLarge ?? false
        var holding = before ?? makeHolding(connection, since: now)
        (holding.bytes, holding.announced) = (bytes, announced)
        holdings[id] = holding
        let entry = Entry(connection: connection, ticket: holding.ticket)
        if before == nil { small.append(entry) }
        if holding.isLarge, !wasLarge { large.append(entry) }
        prune()
        return makeRoom(for: holding, at: now)
    }

    mutating func release(_ connection: Connection) {
        guard let holding = holdings.removeValue(forKey: ObjectIdentifier(connection)) else { return }
        used -= holding.bytes
        // Drops released entries at the front.
        prune()
    }

    private mutating func prune() {
        while let entry = small.first, holding(at: entry) == nil { _ = small.popFirst() }
        while let entry = large.first, holding(at: entry) == nil { _ = large.popFirst() }
    }

    private mutating func makeHolding(_ connection: Connection, since now: MonotonicTime) -> Holding {
        lastTicket += 1
        return Holding(connection: connection, bytes: 0, announced: 0, since: now, ticket: lastTicket)
    }

    private mutating func makeRoom(for holding: Holding, at now: MonotonicTime) -> [Connection] {
        var gone: [Connection] = []
        while used > limit {
            // `prune` has left live entries at the front.
            let entry = large.first ?? (holding.isLarge ? nil : small.first)
            let next = entry.flatMap(self.holding)
            let mayGo = next.map { !holding.isLarge || now - $0.since >= Self.patience } ?? false
            let leaver = mayGo ? next!.connection : holding.connection
            release(leaver)
            gone.append(leaver)
            if leaver === holding.connection { break }
        }
        return gone
    }

    /// Returns the holding of a queue entry; nil when it was released.
    private func holding(at entry: Entry) -> Holding? {
        guard let connection = entry.connection, let holding = holdings[ObjectIdentifier(connection)],
            holding.ticket == entry.ticket
        else { return nil }
        return holding
    }
}
