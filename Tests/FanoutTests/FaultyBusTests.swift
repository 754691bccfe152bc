import TestSupport
import Testing

@testable import Fanout

/// A conversation in the database, a bus that loses, repeats and reorders, a store that responds late, partially or not
/// at all, and one process with a feed. Members come and go, and sessions start at any time from any cursor.
private struct FaultyWorld {
    var random: SeededRandom
    /// The committed changes: position `n` is at index `n - 1`.
    private var log: [TestEntry] = []
    private var stays: [Int: [Stays.Stay]] = [:]
    private var feed = Feed<TestEntry>(last: 0)

    // In flight:
    private var announcements: [TestEntry] = []
    private var isRepairPlanned = false
    private var isHandingOut = false
    private var repairs: [(after: Int64, through: Int64)] = []
    private var fetches: [Feed<TestEntry>.Fetch] = []
    private var stalled: [TestReader] = []
    private var snapshots: [Snapshot] = []
    private var joins: [(reader: TestReader, from: Int64)] = []

    /// A session that has queried its bootstrap, and the snapshot of the response.
    private struct Snapshot {
        var reader: TestReader
        var last: Int64
        var stays: [Stays.Stay]
        var cursor: Int64?
        /// Stays that began since: the private stream delivers them after the bootstrap.
        var joinedSince: [Int64] = []
    }

    /// Every session, and the position after which its changes begin; nil before it joins the conversation.
    private var sessions: [(reader: TestReader, start: Int64?)] = []
    private static let users = 1...4

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func step() {
        switch Int.random(in: 0..<15, using: &random) {
        case 14: handOut()
        case 0...2: commit(removing: nil)
        case 3: toggleMembership()
        case 4...6: receiveAnnouncement()
        case 7: planElapsed()
        case 8: answerRepair()
        case 9...10: answerFetch()
        case 11: startSession()
        case 12: placeSession()
        default: Bool.random(using: &random) ? joinSession() : resumeStalled()
        }
    }

    // MARK: The store

    private var last: Int64 { Int64(log.count) }

    private mutating func commit(removing user: Int?) {
        let entry = TestEntry(position: last + 1, removedUser: user)
        log.append(entry)
        for _ in 0..<[0, 1, 1, 1, 2].randomElement(using: &random)! {
            announcements.insert(entry, at: .random(in: 0...announcements.count, using: &random))
        }
    }

    private mutating func toggleMembership() {
        let user = Self.users.randomElement(using: &random)!
        if let stay = stays[user]?.last, stay.through == nil {
            commit(removing: user)
            stays[user]![stays[user]!.count - 1].through = last
        } else {
            commit(removing: nil)
            stays[user, default: []].append(.init(from: last, through: nil))
            for index in snapshots.indices where snapshots[index].reader.user == user {
                snapshots[index].joinedSince.append(last)
            }
            let pending = snapshots.map(\.reader)
            for (reader, _) in sessions where reader.user == user && !pending.contains(where: { $0 === reader }) {
                joins.append((reader, last))
            }
        }
    }

    private mutating func entries(after: Int64, through: Int64) -> [TestEntry] {
        let page = Int64.random(in: 0...8, using: &random)
        let end = min(through, after + page, last)
        return after < end ? Array(log[Int(after)..<Int(end)]) : []
    }

    // MARK: The process

    private mutating func perform(_ work: Feed<TestEntry>.Work) {
        if work.repairIn != nil { isRepairPlanned = true }
        if work.hasMore { isHandingOut = true }
        fetches += work.fetches
        stalled += work.stalled
        for reader in work.ended { reader.hasEnded = true }
    }

    private mutating func receiveAnnouncement() {
        guard !announcements.isEmpty else { return }
        perform(feed.announce(announcements.removeFirst(), see))
    }

    private mutating func planElapsed() {
        guard isRepairPlanned else { return }
        isRepairPlanned = false
        if let range = feed.beginRepair() { repairs.append(range) }
    }

    private mutating func answerRepair() {
        guard !repairs.isEmpty else { return }
        let (after, through) = repairs.removeFirst()
        let isLost = Int.random(in: 0..<5, using: &random) == 0
        perform(feed.repaired(isLost ? [] : entries(after: after, through: through), last: isLost ? 0 : last))
    }

    private mutating func handOut() {
        guard isHandingOut else { return }
        perform(feed.handOutNext(see))
        isHandingOut = feed.isHandingOut
    }

    private mutating func answerFetch() {
        guard !fetches.isEmpty else { return }
        let fetch = fetches.remove(at: .random(in: 0..<fetches.count, using: &random))
        if Int.random(in: 0..<5, using: &random) == 0 {
            perform(feed.fetchFailed(for: fetch.subscriber))
        } else {
            let page = entries(after: fetch.after, through: fetch.through)
            perform(feed.fetched(page, for: fetch.subscriber, see))
        }
    }

    private mutating func resumeStalled() {
        guard !stalled.isEmpty else { return }
        perform(feed.resume(stalled.removeFirst(), see))
    }

    private mutating func startSession() {
        let reader = TestReader(user: Self.users.randomElement(using: &random)!)
        let cursor = Bool.random(using: &random) ? Int64.random(in: 0...last, using: &random) : nil
        snapshots.append(Snapshot(reader: reader, last: last, stays: stays[reader.user] ?? [], cursor: cursor))
        sessions.append((reader, nil))
    }

    private mutating func placeSession() {
        guard !snapshots.isEmpty else { return }
        let snapshot = snapshots.removeFirst()
        if !snapshot.stays.isEmpty {
            let start = snapshot.cursor ?? snapshot.last
            setStart(start, of: snapshot.reader)
            perform(feed.learn(snapshot.last))
            perform(feed.add(snapshot.reader, after: start, Stays(snapshot.stays), see))
        }
        joins += snapshot.joinedSince.map { (snapshot.reader, $0) }
    }

    private mutating func joinSession() {
        guard !joins.isEmpty else { return }
        let (reader, from) = joins.removeFirst()
        if sessions.first(where: { $0.reader === reader })?.start == nil { setStart(from - 1, of: reader) }
        perform(feed.learn(from))
        perform(feed.add(reader, after: from - 1, Stays([.init(from: from, through: nil)]), see))
    }

    private mutating func setStart(_ start: Int64, of reader: TestReader) {
        let index = sessions.firstIndex { $0.reader === reader }!
        sessions[index].start = start
    }

    // MARK: The end

    /// Digests continue and every response arrives in the end.
    mutating func settle() {
        while !snapshots.isEmpty { placeSession() }
        while !joins.isEmpty { joinSession() }
        for _ in 0..<20_000 {
            perform(feed.learn(last))
            receiveAnnouncement()
            planElapsed()
            answerRepair()
            handOut()
            answerFetch()
            resumeStalled()
            let isQuiet = announcements.isEmpty && repairs.isEmpty && fetches.isEmpty && stalled.isEmpty
            if isQuiet, !isRepairPlanned, !isHandingOut, feed.last == last { return }
        }
    }

    /// The positions that each session has seen and those that it should have seen.
    var results: [(seen: [Int64], expected: [Int64])] {
        sessions.map { reader, start in
            guard let start, let stays = stays[reader.user] else { return (reader.seen, []) }
            let visible = Stays(stays)
            return (reader.seen, log.map(\.position).filter { $0 > start && visible.contains($0) })
        }
    }
}

@Suite struct FaultyBusTests {
    @Test("every session sees its changes once and in order, whatever the bus does", arguments: UInt64(0)..<600)
    func faultyBus(seed: UInt64) {
        var world = FaultyWorld(seed: seed)
        for _ in 0..<400 { world.step() }
        world.settle()
        for (seen, expected) in world.results { #expect(seen == expected, "seed \(seed)") }
    }
}
