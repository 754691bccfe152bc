import Models
import Reactor
import TestSupport
import Testing

@testable import Receipt

@Suite struct UntoldReadsTests {
    private let conversation = ConversationID(UUIDBytes(high: 0, low: 1))

    private func key(_ user: String) -> HorizonKey { HorizonKey(conversation: conversation, user: UserID(user)!) }

    private func time(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    private func takeAll(_ reads: inout UntoldReads) -> [String: Int64] {
        var taken: [String: Int64] = [:]
        for slot in reads.readySlots {
            for (key, seq) in reads.takeReady(slot, limit: 1_000) { taken[key.user.name] = seq }
        }
        return taken
    }

    @Test("the first position is told at once, what follows within a second as one, and then it is forgotten")
    func coalescing() {
        var reads = UntoldReads()
        _ = reads.add(key("ann"), 1)
        #expect(takeAll(&reads) == ["ann": 1])
        _ = reads.add(key("ann"), 2)
        reads.rest([key("ann")], isTold: true, at: time(0))
        for seq in [5, 3] as [Int64] { _ = reads.add(key("ann"), seq) }
        reads.endRests(at: time(999))
        #expect(takeAll(&reads) == [:] && reads.nextEnd == time(1_000))
        reads.endRests(at: time(1_000))
        #expect(takeAll(&reads) == ["ann": 5])
        reads.rest([key("ann")], isTold: true, at: time(1_010))
        reads.endRests(at: time(2_010))
        #expect(reads.count == 0 && reads.nextEnd == nil && takeAll(&reads) == [:])
    }

    @Test("while messages are being written a position rests for longer, and is not forgotten")
    func longerInterval() {
        var reads = UntoldReads()
        _ = reads.add(key("ann"), 1)
        _ = takeAll(&reads)
        reads.rest([key("ann")], isTold: true, at: time(0))
        _ = reads.add(key("ann"), 2)
        reads.interval = UntoldReads.intervalAmongMessages
        reads.endRests(at: time(4_999))
        #expect(takeAll(&reads) == [:] && reads.nextEnd == time(5_000))
        reads.interval = UntoldReads.shortestInterval
        reads.endRests(at: time(4_999))
        #expect(takeAll(&reads) == ["ann": 2])
    }

    @Test("what could not be told is told later, merged with what came since")
    func failure() {
        var reads = UntoldReads()
        _ = reads.add(key("ann"), 7)
        _ = takeAll(&reads)
        _ = reads.add(key("ann"), 4)
        reads.rest([key("ann")], isTold: false, at: time(0))
        reads.endRests(at: time(1_000))
        #expect(takeAll(&reads) == ["ann": 7])
    }

    @Test("a request has so many positions, the others wait for the next")
    func limit() {
        var reads = UntoldReads()
        let users = (0..<5_000).map { "user\($0)" }.filter { UserID($0)!.slot == UserID("user0")!.slot }
        for user in users { _ = reads.add(key(user), 1) }
        let slot = UserID("user0")!.slot
        let first = reads.takeReady(slot, limit: 3), rest = reads.takeReady(slot, limit: 1_000)
        #expect(first.map(\.key.user.name) == Array(users.prefix(3)))
        #expect(rest.map(\.key.user.name) == Array(users.dropFirst(3)))
    }

    @Test("there is room for so many and no more")
    func capacity() {
        var reads = UntoldReads()
        let isFull = (0..<UntoldReads.capacity).contains { !reads.add(key("user\($0)"), 1) }
        let hasRoomForAnother = reads.add(key("another"), 1), hasRoomForKnown = reads.add(key("user7"), 2)
        #expect(!isFull && !hasRoomForAnother && hasRoomForKnown)
    }

    @Test(
        "whatever the schedule and whatever fails: each user is told the highest position in the end, and never twice in a second",
        arguments: UInt64(0)..<50)
    func schedules(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var reads = UntoldReads()
        var read: [String: Int64] = [:], told: [String: Int64] = [:], tried: [String: Int] = [:]
        func tell(at now: Int, fails: Bool) {
            for slot in reads.readySlots {
                let taken = reads.takeReady(slot, limit: 2)
                for (key, seq) in taken {
                    let name = key.user.name
                    #expect(now - tried[name, default: -1_000] >= 1_000, "seed \(seed)")
                    tried[name] = now
                    if !fails { told[name] = max(told[name, default: 0], seq) }
                }
                reads.rest(taken.map(\.key), isTold: !fails, at: time(now))
            }
        }
        var now = 0
        for _ in 0..<400 {
            now += .random(in: 0...100, using: &random)
            reads.endRests(at: time(now))
            let name = ["ann", "bob", "cy"].randomElement(using: &random)!
            read[name] = max(read[name, default: 0], .random(in: 1...1_000, using: &random))
            _ = reads.add(key(name), read[name]!)
            if Bool.random(using: &random) { tell(at: now, fails: Bool.random(using: &random)) }
        }
        for _ in 0..<3 {
            now += 1_000
            reads.endRests(at: time(now))
            tell(at: now, fails: false)
        }
        #expect(told == read, "seed \(seed)")
    }
}
