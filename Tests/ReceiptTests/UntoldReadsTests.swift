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

    @Test(
        "a burst of readings of a user in a conversation is told once, with the last of them, a quarter of a second later"
    )
    func burst() {
        var reads = UntoldReads()
        for seq in 1...20 { _ = reads.add(key("ann"), Int64(seq), at: time(seq * 10)) }
        #expect(reads.nextEnd == time(260), "a quarter of a second behind the first, whatever comes")
        reads.advance(to: time(259))
        #expect(takeAll(&reads) == [:])
        reads.advance(to: time(260))
        #expect(takeAll(&reads) == ["ann": 20])
        #expect(takeAll(&reads) == [:] && reads.nextEnd == nil)
    }

    @Test("readings of others go along with the first, and what comes later gathers anew")
    func together() {
        var reads = UntoldReads()
        _ = reads.add(key("ann"), 1, at: time(0))
        _ = reads.add(key("bob"), 2, at: time(249))
        reads.advance(to: time(250))
        #expect(takeAll(&reads) == ["ann": 1, "bob": 2])
        _ = reads.add(key("cy"), 3, at: time(251))
        #expect(reads.nextEnd == time(501))
    }

    @Test("a whole batch does not wait")
    func gatheringLimit() {
        var reads = UntoldReads()
        for number in 1..<UntoldReads.gatheringLimit { _ = reads.add(key("user\(number)"), 1, at: time(0)) }
        #expect(reads.nextEnd == time(250))
        _ = reads.add(key("another"), 1, at: time(7))
        #expect(reads.nextEnd == time(7))
        reads.advance(to: time(7))
        #expect(takeAll(&reads).count == UntoldReads.gatheringLimit)
        _ = reads.add(key("late"), 1, at: time(8))
        #expect(reads.nextEnd == time(258))
    }

    @Test("at the end of the process what has gathered is ready at once")
    func endOfGathering() {
        var reads = UntoldReads()
        _ = reads.add(key("ann"), 1, at: time(0))
        reads.endGathering()
        #expect(takeAll(&reads) == ["ann": 1] && reads.nextEnd == nil)
    }

    @Test("what follows within a second is told as one, together with what others have read, and then it is forgotten")
    func coalescing() {
        var reads = UntoldReads()
        _ = reads.add(key("ann"), 1, at: time(0))
        reads.advance(to: time(250))
        #expect(takeAll(&reads) == ["ann": 1])
        _ = reads.add(key("ann"), 2, at: time(260))
        reads.rest([key("ann")], isTold: true, at: time(300))
        for seq in [5, 3] as [Int64] { _ = reads.add(key("ann"), seq, at: time(310)) }
        #expect(reads.nextEnd == time(1_300))
        _ = reads.add(key("bob"), 8, at: time(1_200))
        reads.advance(to: time(1_300))
        #expect(takeAll(&reads) == [:] && reads.nextEnd == time(1_450))
        reads.advance(to: time(1_450))
        #expect(takeAll(&reads) == ["ann": 5, "bob": 8])
        reads.rest([key("ann"), key("bob")], isTold: true, at: time(1_460))
        reads.advance(to: time(2_460))
        #expect(reads.count == 0 && reads.nextEnd == nil && takeAll(&reads) == [:])
    }

    @Test("while messages are being written a position rests for longer, and is not forgotten")
    func longerInterval() {
        var reads = UntoldReads()
        _ = reads.add(key("ann"), 1, at: time(0))
        reads.endGathering()
        _ = takeAll(&reads)
        reads.rest([key("ann")], isTold: true, at: time(0))
        _ = reads.add(key("ann"), 2, at: time(0))
        reads.interval = UntoldReads.intervalAmongMessages
        reads.advance(to: time(4_999))
        #expect(takeAll(&reads) == [:] && reads.nextEnd == time(5_000))
        reads.interval = UntoldReads.shortestInterval
        reads.advance(to: time(4_999))
        reads.advance(to: time(5_249))
        #expect(takeAll(&reads) == ["ann": 2])
    }

    @Test("what could not be told is told later, merged with what came since")
    func failure() {
        var reads = UntoldReads()
        _ = reads.add(key("ann"), 7, at: time(0))
        reads.endGathering()
        _ = takeAll(&reads)
        _ = reads.add(key("ann"), 4, at: time(0))
        reads.rest([key("ann")], isTold: false, at: time(0))
        reads.advance(to: time(1_000))
        reads.advance(to: time(1_250))
        #expect(takeAll(&reads) == ["ann": 7])
    }

    @Test("a request has so many positions, the others wait for the next")
    func limit() {
        var reads = UntoldReads()
        let users = (0..<5_000).map { "user\($0)" }.filter { UserID($0)!.slot == UserID("user0")!.slot }
        for user in users { _ = reads.add(key(user), 1, at: time(0)) }
        reads.endGathering()
        let slot = UserID("user0")!.slot
        let first = reads.takeReady(slot, limit: 3), rest = reads.takeReady(slot, limit: 1_000)
        #expect(first.map(\.key.user.name) == Array(users.prefix(3)))
        #expect(rest.map(\.key.user.name) == Array(users.dropFirst(3)))
    }

    @Test("there is room for so many and no more")
    func capacity() {
        var reads = UntoldReads()
        let isFull = (0..<UntoldReads.capacity).contains { !reads.add(key("user\($0)"), 1, at: time(0)) }
        let hasRoomForAnother = reads.add(key("another"), 1, at: time(0)),
            hasRoomForKnown = reads.add(key("user7"), 2, at: time(0))
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
            reads.advance(to: time(now))
            let name = ["ann", "bob", "cy"].randomElement(using: &random)!
            read[name] = max(read[name, default: 0], .random(in: 1...1_000, using: &random))
            _ = reads.add(key(name), read[name]!, at: time(now))
            if Bool.random(using: &random) { tell(at: now, fails: Bool.random(using: &random)) }
        }
        for _ in 0..<6 {
            now += 1_000
            reads.advance(to: time(now))
            tell(at: now, fails: false)
        }
        #expect(told == read, "seed \(seed)")
    }
}
