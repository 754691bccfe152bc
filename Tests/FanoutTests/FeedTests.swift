import TestSupport
import Testing

@testable import Fanout

/// A subscriber that records what it gets.
final class TestReader {
    let user: Int
    var seen: [Int64] = []
    var hasEnded = false
    init(user: Int = 0) { self.user = user }
}

struct TestEntry: StreamEntry {
    var position: Int64
    var removedUser: Int?
    var byteCount = 100
    func isLast(for reader: TestReader) -> Bool { reader.user == removedUser }
}

func see(_ entry: TestEntry, _ reader: TestReader) { reader.seen.append(entry.position) }

@Suite struct FeedTests {
    typealias Work = Feed<TestEntry>.Work

    @Test("a live subscriber gets the next entry at once, and never a repeated one")
    func live() {
        var feed = Feed<TestEntry>(last: 4)
        let reader = TestReader()
        _ = feed.add(reader, after: 4, .unlimited, see)
        _ = feed.announce(TestEntry(position: 5), see)
        _ = feed.announce(TestEntry(position: 5), see)
        _ = feed.announce(TestEntry(position: 3), see)
        #expect(reader.seen == [5])
    }

    @Test("a gap is fetched once after a delay, then early entries follow")
    func hole() {
        var feed = Feed<TestEntry>(last: 0)
        let reader = TestReader()
        _ = feed.add(reader, after: 0, .unlimited, see)
        #expect(feed.announce(TestEntry(position: 3), see).repairIn == .milliseconds(10))
        #expect(feed.announce(TestEntry(position: 4), see).repairIn == nil)
        #expect(reader.seen.isEmpty)
        let range = feed.beginRepair()
        #expect(range?.after == 0 && range?.through == 2)
        #expect(feed.beginRepair() == nil)
        _ = feed.repaired([TestEntry(position: 1), TestEntry(position: 2)], last: 4)
        while feed.isHandingOut { _ = feed.handOutNext(see) }
        #expect(reader.seen == [1, 2, 3, 4])
    }

    @Test("a subscriber that is cut gets what it lacks up to there and nothing behind, wherever it was")
    func cut() {
        var feed = Feed<TestEntry>(last: 4)
        let (ahead, behind) = (TestReader(), TestReader())
        _ = feed.add(ahead, after: 4, .unlimited, see)
        _ = feed.add(behind, after: 4, .unlimited, see)
        #expect(feed.cut(ahead, through: 4, see).ended.map { $0 === ahead } == [true])
        #expect(feed.cut(behind, through: 5, see).ended.isEmpty)
        #expect(feed.announce(TestEntry(position: 5), see).ended.map { $0 === behind } == [true])
        _ = feed.announce(TestEntry(position: 6), see)
        #expect(ahead.seen.isEmpty && behind.seen == [5] && feed.isEmpty)
        let fetching = TestReader()
        let fetch = feed.add(fetching, after: 1, .unlimited, see).fetches[0]
        #expect(fetch.through == 6 && fetch.asOf == .max)
        _ = feed.cut(fetching, through: 3, see)
        _ = feed.fetched((Int64(2)...6).map { TestEntry(position: $0) }, for: fetching, see)
        #expect(fetching.seen == [2, 3] && feed.isEmpty)
    }

    @Test("a gap that closes by itself fetches nothing")
    func selfHealing() {
        var feed = Feed<TestEntry>(last: 0)
        _ = feed.announce(TestEntry(position: 2), see)
        _ = feed.announce(TestEntry(position: 1), see)
        #expect(feed.beginRepair() == nil)
        #expect(feed.last == 2)
    }

    @Test("a fetch without progress is repeated after a pause")
    func failedRepair() {
        var feed = Feed<TestEntry>(last: 0)
        _ = feed.learn(2)
        #expect(feed.beginRepair()?.through == 2)
        #expect(feed.repaired([], last: 0).repairIn == .seconds(1))
        #expect(feed.beginRepair()?.through == 2)
        #expect(feed.repaired([TestEntry(position: 1)], last: 2).hasMore)
        #expect(feed.handOutNext(see).repairIn == .milliseconds(10))
    }

    @Test("repaired entries go out one at a time, in order with those announced meanwhile")
    func handingOut() {
        var feed = Feed<TestEntry>(last: 0)
        let reader = TestReader()
        _ = feed.add(reader, after: 0, .unlimited, see)
        _ = feed.learn(3)
        _ = feed.beginRepair()
        #expect(feed.repaired((Int64(1)...3).map { TestEntry(position: $0) }, last: 3).hasMore)
        #expect(reader.seen.isEmpty, "the host of the feed decides when")
        _ = feed.announce(TestEntry(position: 1), see)
        #expect(feed.announce(TestEntry(position: 5), see).hasMore == false, "it is being handed out already")
        #expect(feed.beginRepair() == nil)
        let seen = (0..<3).map { _ in
            _ = feed.handOutNext(see)
            return reader.seen.count
        }
        #expect(seen == [1, 2, 3] && !feed.isHandingOut)
        _ = feed.announce(TestEntry(position: 4), see)
        #expect(reader.seen == [1, 2, 3, 4, 5])
    }

    @Test("early entries for thousands go out with one announcement up to a turn's portion, the rest later")
    func earlyForMany() {
        var feed = Feed<TestEntry>(last: 0)
        let readers = (0..<4_096).map { _ in TestReader() }
        for reader in readers { _ = feed.add(reader, after: 0, .unlimited, isNew: true, see) }
        for position in Int64(2)...100 { _ = feed.announce(TestEntry(position: position), see) }
        let work = feed.announce(TestEntry(position: 1), see)
        #expect(work.hasMore && readers[7].seen == [1, 2, 3])
        while feed.isHandingOut { _ = feed.handOutNext(see) }
        #expect(readers.allSatisfy { $0.seen == Array(1...100) })
    }

    @Test("nobody waits for skipped entries, and they make room for early ones")
    func skipped() {
        var feed = Feed<TestEntry>(last: 0)
        let waiting = TestReader(), live = TestReader()
        _ = feed.add(waiting, after: 5, .unlimited, see)
        _ = feed.add(live, after: 0, .unlimited, see)
        #expect(feed.skip(through: 10).count == 2 && feed.isEmpty)
        _ = feed.add(live, after: 10, .unlimited, see)
        // Half of the capacity for early entries each time: forgotten ones do not count.
        let half = DenseStream<TestEntry>.earlyBytesLimit / 2
        _ = feed.announce(TestEntry(position: 20, byteCount: half), see)
        _ = feed.skip(through: 20)
        _ = feed.add(live, after: 20, .unlimited, isNew: true, see)
        for position in [23, 22] as [Int64] { _ = feed.announce(TestEntry(position: position, byteCount: half), see) }
        _ = feed.announce(TestEntry(position: 21), see)
        #expect(live.seen == [21, 22, 23])
        #expect(waiting.seen.isEmpty)
    }

    @Test("a subscriber that catches up gets pages, then what came meanwhile, and then is live")
    func catchingUp() {
        var feed = Feed<TestEntry>(last: 10)
        let reader = TestReader()
        let fetch = feed.add(reader, after: 6, .unlimited, see).fetches.first
        #expect(fetch?.after == 6 && fetch?.through == 10)
        _ = feed.announce(TestEntry(position: 11), see)
        #expect(reader.seen.isEmpty)
        let next = feed.fetched([TestEntry(position: 7), TestEntry(position: 8)], for: reader, see).fetches.first
        #expect(next?.after == 8 && next?.through == 11)
        _ = feed.fetched([TestEntry(position: 9), TestEntry(position: 10)], for: reader, see)
        #expect(reader.seen == [7, 8, 9, 10, 11])
        #expect(feed.catchingUp == 0)
        _ = feed.announce(TestEntry(position: 12), see)
        #expect(reader.seen.last == 12)
    }

    @Test("a subscriber ahead of the stream waits for it and misses nothing")
    func ahead() {
        var feed = Feed<TestEntry>(last: 3)
        let reader = TestReader()
        _ = feed.add(reader, after: 5, .unlimited, see)
        for position in Int64(4)...7 { _ = feed.announce(TestEntry(position: position), see) }
        #expect(reader.seen == [6, 7])
    }

    @Test("a removed member gets the change that removes them, and nothing after it")
    func removal() {
        var feed = Feed<TestEntry>(last: 0)
        let leaver = TestReader(user: 1), stayer = TestReader(user: 2)
        _ = feed.add(leaver, after: 0, .unlimited, see)
        _ = feed.add(stayer, after: 0, .unlimited, see)
        let work = feed.announce(TestEntry(position: 1, removedUser: 1), see)
        #expect(work.ended.first === leaver && work.ended.count == 1)
        _ = feed.announce(TestEntry(position: 2), see)
        #expect(leaver.seen == [1])
        #expect(stayer.seen == [1, 2])
    }

    @Test("a former member reads their stays from the cursor on, and is then removed")
    func formerMember() {
        var feed = Feed<TestEntry>(last: 30)
        let reader = TestReader()
        let stays = Stays([.init(from: 3, through: 5), .init(from: 10, through: 12)])
        let fetch = feed.add(reader, after: 4, stays, see).fetches.first
        #expect(fetch?.after == 4 && fetch?.through == 12)
        let work = feed.fetched((Int64(5)...12).map { TestEntry(position: $0) }, for: reader, see)
        #expect(reader.seen == [5, 10, 11, 12])
        #expect(work.ended.first === reader)
        #expect(feed.isEmpty)
    }

    @Test("a page without progress pauses a subscriber, and the pause ends with a new attempt")
    func stalled() {
        var feed = Feed<TestEntry>(last: 5)
        let reader = TestReader()
        _ = feed.add(reader, after: 3, .unlimited, see)
        let work = feed.fetched([], for: reader, see)
        #expect(work.fetches.isEmpty && work.stalled.first === reader)
        #expect(feed.resume(reader, see).fetches.first?.after == 3)
        #expect(feed.fetchFailed(for: reader).stalled.first === reader)
    }

    @Test("the entries kept for catching up are bounded, and forgotten with the last such subscriber")
    func recentIsBounded() {
        var feed = Feed<TestEntry>(last: 1)
        let reader = TestReader()
        _ = feed.add(reader, after: 0, .unlimited, see)
        for position in Int64(2)...10_000 { _ = feed.announce(TestEntry(position: position), see) }
        // Too far behind for the kept entries: another page is needed.
        let fetch = feed.fetched([TestEntry(position: 1)], for: reader, see).fetches.first
        #expect(fetch?.after == 1 && fetch?.through == 10_000)
    }
}
