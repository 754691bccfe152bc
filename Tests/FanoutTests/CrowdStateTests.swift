import Reactor
import ServiceKit
import TestSupport
import Testing

@testable import Fanout

private final class Thing {
    let number: Int
    init(_ number: Int) { self.number = number }
}

/// Tests that the cost of one user or room does not grow with the square of its size.
@Suite struct CrowdStateTests {
    @Test(
        "a table finds and forgets what belongs to an object, as a list of the objects would", arguments: UInt64(0)..<20
    )
    func identityTable(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let things = (0..<60).map(Thing.init)
        var table = IdentityTable<Int>()
        var expected: [Int: Int] = [:]
        for round in 0..<600 {
            let thing = things.randomElement(using: &random)!
            switch Int.random(in: 0..<3, using: &random) {
            case 0: expected[thing.number] = nil == table.remove(thing) ? expected[thing.number] : nil
            case 1 where expected[thing.number] == nil:
                table.append(thing, round)
                expected[thing.number] = round
            default:
                table.set(thing, round)
                expected[thing.number] = round
            }
            #expect(things.allSatisfy { table[$0] == expected[$0.number] } && table.count == expected.count)
            #expect(table.values.sorted() == expected.values.sorted())
        }
        while let value = table.popLast() { #expect(expected.values.contains(value)) }
        #expect(things.allSatisfy { !table.contains($0) })
    }

    @Test("a room of ten thousand is searched no longer than one of twenty")
    func searchLength() {
        var feed = Feed<TestEntry>(last: 0)
        let readers = (0..<10_000).map { TestReader(user: $0) }
        for reader in readers { _ = feed.add(reader, after: 0, .unlimited, isNew: true, see) }
        #expect(feed.searchLength <= 2)
        for reader in readers.dropFirst(20) { feed.remove(reader) }
        #expect(feed.searchLength <= 2 * IdentityTable<TestReader>.searched && feed.count == 20)
        // The same while all of them catch up.
        var behind = Feed<TestEntry>(last: 5)
        for reader in readers { _ = behind.add(reader, after: 0, .unlimited, isNew: true, see) }
        #expect(behind.searchLength <= 2 && behind.catchingUp == 10_000)
    }

    // MARK: Unauthenticated connections

    private static let small = UnauthenticatedBudget<Thing>.smallBytes
    private static func second(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000 + UInt64(seconds * 1e9))
    }

    @Test("large hellos share a budget: the newest is refused, one that takes very long gives way")
    func largeStrangers() {
        var budget = UnauthenticatedBudget<Thing>(limit: 10 * Self.small)
        let things = (0..<6).map(Thing.init)
        func hold(_ number: Int, at seconds: Double) -> [Int] {
            budget.hold(2 * Self.small, for: things[number], at: Self.second(seconds)).map(\.number)
        }
        let first = (0..<5).flatMap { hold($0, at: 0) }
        #expect(first.isEmpty)
        let soon = hold(5, at: 1)
        #expect(soon == [5] && budget.used == 10 * Self.small)
        let later = hold(5, at: 2.1)
        #expect(later == [0])
        budget.release(things[1])
        #expect(budget.used == 8 * Self.small)
        for thing in things { budget.release(thing) }
        #expect(budget.used == 0)
    }

    @Test("a hello of the usual size always gets in, at the cost of the large ones first, then of the oldest")
    func smallStrangers() {
        var budget = UnauthenticatedBudget<Thing>(limit: 4 * Self.small)
        let things = (0..<8).map(Thing.init)
        func hold(_ number: Int, _ bytes: Int = Self.small) -> [Int] {
            budget.hold(bytes, for: things[number], at: Self.second(0)).map(\.number)
        }
        let leavers = [hold(0), hold(1, 3 * Self.small), hold(2), hold(3), hold(4), hold(5)]
        #expect(leavers == [[], [], [1], [], [], [0]] && budget.used == 4 * Self.small)
    }

    @Test("a large hello counts as large from its first bytes on, and displaces nobody")
    func announced() {
        var budget = UnauthenticatedBudget<Thing>(limit: 4 * Self.small)
        let things = (0..<3).map(Thing.init)
        _ = budget.hold(4 * Self.small, for: things[0], at: Self.second(0))
        let large = budget.hold(100, of: 4 * Self.small, for: things[1], at: Self.second(0))
        let small = budget.hold(100, of: 200, for: things[2], at: Self.second(0))
        #expect(large.map(\.number) == [1] && small.map(\.number) == [0])
    }

    @Test("unauthenticated connections never hold more than the budget", arguments: UInt64(0)..<20)
    func anyStrangers(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let things = (0..<40).map(Thing.init)
        var held = [Int: Int]()
        var budget = UnauthenticatedBudget<Thing>(limit: 1 << 20)
        for step in 0..<2_000 {
            let thing = things.randomElement(using: &random)!
            let bytes = Bool.random(using: &random) ? Int.random(in: 0...1 << 19, using: &random) : 900
            held[thing.number] = bytes
            for leaver in budget.hold(bytes, for: thing, at: Self.second(Double(step) / 100)) {
                held[leaver.number] = nil
            }
            #expect(budget.used <= budget.limit && budget.used == held.values.reduce(0, +))
        }
    }

    // MARK: Allowances

    @Test("reading may overdraw an allowance, and then has to wait")
    func allowance() {
        var limits = SessionLimits()
        (limits.framesPerSecond, limits.frameBurst) = (100, 1_000)
        let rate = limits.frameRate
        var allowance = TokenBucket(rate, at: Self.second(0))
        allowance.charge(FrameCost.receipts(9_000), rate, at: Self.second(0))
        let noWait = allowance.debt(rate, at: Self.second(0))
        #expect(noWait == nil, "a client that reconnects sends much at once")
        allowance.charge(FrameCost.receipts(9_000), rate, at: Self.second(0))
        let wait = allowance.debt(rate, at: Self.second(0))!
        #expect(wait > .seconds(8) && wait < .seconds(9))
        let (paid, isFullSoon) = (allowance.debt(rate, at: Self.second(9)), allowance.isFull(rate, at: Self.second(9)))
        #expect(paid == nil && !isFullSoon)
        for _ in 0..<100 { allowance.charge(1_000, rate, at: Self.second(9)) }
        let longest = allowance.debt(rate, at: Self.second(9))!
        #expect(longest < .seconds(11), "no wait exceeds the time for a full allowance")
        let isFull = allowance.isFull(rate, at: Self.second(60))
        #expect(isFull)
    }
}

/// Tests of splitting long work over turns.
@Suite(.serialized) struct TurnsTests {
    init() { ReactorThread.start() }

    @Test("tasks share the steps of a turn, and a small one does not wait for a large one")
    @Reactor func turns() async {
        let turns = Turns(Turns.Size(steps: 100, share: 10))
        var (large, small) = (0, 0)
        var largeAtEndOfSmall = 0
        turns.forEach(0..<5_000) { _ in large += 1 }
        turns.forEach(0..<20) { _ in
            small += 1
        } end: {
            largeAtEndOfSmall = large
        }
        await waitUntil { large == 5_000 }
        #expect(small == 20 && largeAtEndOfSmall < 50 && turns.longest <= 100)
    }

    @Test("a step that counts as many shortens the turn")
    @Reactor func weight() async {
        let turns = Turns(Turns.Size(steps: 100, share: 10))
        var done = 0
        var inTurn = [Int]()
        turns.forEach(0..<8) { _ in
            turns.spend(60)
            done += 1
        }
        func count() {
            inTurn.append(done)
            if done < 8 { Reactor.atEndOfTurn { count() } }
        }
        Reactor.atEndOfTurn { count() }
        await waitUntil { done == 8 }
        #expect(zip(inTurn, inTurn.dropFirst()).allSatisfy { $1 - $0 <= 2 })
    }
}
