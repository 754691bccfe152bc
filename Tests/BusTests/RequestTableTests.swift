import Reactor
import TestSupport
import Testing
import Wire

@testable import Bus

@Suite struct RequestTableTests {
    static func time(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 5_000_000_000 + milliseconds * 1_000_000)
    }

    /// Returns what a table does with one request that never gets a response, as (milliseconds, action).
    static func life(
        firstWait: Duration = RequestTable<String>.firstWait, deadline: Duration
    ) -> [(UInt64, String)] {
        var table = RequestTable<String>(now: time(0))
        _ = table.start({ _ in "request" }, firstWait: firstWait, deadline: deadline, now: time(0))
        var actions: [(UInt64, String)] = []
        for millisecond in UInt64(1)...5_000 {
            for action in table.advance(to: time(millisecond)) {
                switch action {
                case .publishAgain: actions.append((millisecond, "again"))
                case .timedOut: actions.append((millisecond, "timed out"))
                }
            }
        }
        #expect(table.count == 0)
        return actions
    }

    @Test(
        "a request without a response is repeated after its first wait, doubling up to a second, and ended at its deadline",
        arguments: [(100, [100, 300, 700, 1_500, 2_500, 3_200]), (300, [300, 900, 1_900, 2_900, 3_200])]
            as [(Int, [UInt64])])
    func repetitions(firstWait: Int, expected: [UInt64]) {
        let actions = Self.life(firstWait: .milliseconds(firstWait), deadline: .milliseconds(3_200))
        #expect(actions.map(\.1) == expected.dropLast().map { _ in "again" } + ["timed out"])
        for (actual, expected) in zip(actions.map(\.0), expected) {
            #expect(actual >= expected && actual <= expected + 100, "\(actual) instead of \(expected) ms")
        }
    }

    @Test("a request that waits its turn is not repeated until it does no more, and times out all the same")
    func waiting() {
        var table = RequestTable<String>(now: Self.time(0))
        _ = table.start({ _ in "request" }, deadline: .milliseconds(1_500), now: Self.time(0))
        var actions: [(UInt64, String)] = []
        for millisecond in UInt64(1)...2_000 {
            for action in table.advance(to: Self.time(millisecond), isWaiting: { _, _ in millisecond < 750 }) {
                switch action {
                case .publishAgain: actions.append((millisecond, "again"))
                case .timedOut: actions.append((millisecond, "timed out"))
                }
            }
        }
        #expect(actions.map(\.1) == ["again", "again", "again", "timed out"])
        #expect((750...900).contains(actions[0].0), "it is asked about every 100 ms")
    }

    @Test(
        "what is to be repeated soon is published at once and then as from the beginning, and other requests as before")
    func repeatedSoon() {
        var table = RequestTable<String>(now: Self.time(0))
        for name in ["soon", "other"] {
            _ = table.start({ _ in name }, deadline: .milliseconds(2_000), now: Self.time(0))
        }
        var published: [String: [UInt64]] = [:]
        for millisecond in UInt64(1)...3_000 {
            if millisecond == 750 { table.repeatSoon(at: Self.time(750)) { $0 == "soon" } }
            for case .publishAgain(_, let name) in table.advance(to: Self.time(millisecond)) {
                published[name, default: []].append(millisecond)
            }
        }
        #expect(table.count == 0)
        let expected: [String: [UInt64]] = [
            "soon": [100, 300, 700, 750, 850, 1_050, 1_450], "other": [100, 300, 700, 1_500],
        ]
        for (name, times) in expected {
            #expect(published[name]?.count == times.count, "\(published)")
            for (actual, expected) in zip(published[name] ?? [], times) {
                #expect(actual >= expected && actual <= expected + 100, "\(name): \(actual) instead of \(expected)")
            }
        }
    }

    @Test("of many requests that are to be repeated soon each tick publishes a part")
    func manyHastened() {
        var table = RequestTable<Int>(now: Self.time(0))
        for index in 0..<5_000 {
            _ = table.start({ _ in index }, firstWait: .seconds(1), deadline: .seconds(3), now: Self.time(0))
        }
        table.repeatSoon(at: Self.time(10)) { _ in true }
        var published: Set<Int> = []
        for millisecond in UInt64(11)...99 {
            let actions = table.advance(to: Self.time(millisecond))
            #expect(actions.count <= 1_024)
            for case .publishAgain(_, let index) in actions { #expect(published.insert(index).inserted) }
        }
        #expect(published.count == 5_000)
    }

    @Test("a deadline before the first repetition is met without one")
    func shortDeadline() {
        let actions = Self.life(deadline: .milliseconds(30))
        #expect(actions.map(\.1) == ["timed out"])
        #expect((30...50).contains(actions[0].0))
    }

    @Test("a response completes its request once; repeated, late and foreign responses find nothing")
    func lateResponses() {
        var table = RequestTable<String>(now: Self.time(0))
        let first = table.start({ _ in "first" }, deadline: .seconds(1), now: Self.time(0))
        #expect(table.complete(first) == "first")
        #expect(table.complete(first) == nil)
        let second = table.start({ _ in "second" }, deadline: .seconds(1), now: Self.time(1))
        #expect(second != first)
        #expect(table.complete(first) == nil)
        #expect(table.complete(RequestNumber(99)) == nil)
        #expect(table.complete(second) == "second")
        #expect(table.advance(to: Self.time(9_000)).isEmpty)
    }

    @Test("a full table has room again after a response")
    func full() {
        var table = RequestTable<Int>(now: Self.time(0))
        let numbers = (0..<RequestTable<Int>.capacity).map { index in
            table.start({ _ in index }, deadline: .seconds(1), now: Self.time(0))
        }
        #expect(table.isFull)
        #expect(table.complete(numbers[77]) == 77)
        #expect(!table.isFull)
    }

    @Test("a table is also full by the bytes that it keeps, until responses or timeouts free them")
    func fullOfBytes() {
        let part = RequestTable<Int>.bytesLimit / 4
        var table = RequestTable<Int>(now: Self.time(0), size: { _ in part })
        let numbers = (0..<4).map { index in
            #expect(!table.isFull)
            return table.start({ _ in index }, deadline: .seconds(1), now: Self.time(0))
        }
        #expect(table.isFull && table.count == 4)
        _ = table.complete(numbers[1])
        #expect(!table.isFull)
        _ = table.advance(to: Self.time(9_000))
        #expect(table.bytes == 0)
    }

    @Test("every request ends exactly once, whenever responses come", arguments: UInt64(0)..<100)
    func everyRequestEndsOnce(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = RequestTable<Int>(now: Self.time(0))
        var ends = [Int](repeating: 0, count: 300)
        var open: [(RequestNumber, Int)] = []
        var now: UInt64 = 0
        for request in 0..<300 {
            now += .random(in: 0...30, using: &random)
            let deadline = Duration.milliseconds(Int.random(in: 0...3_000, using: &random))
            open.append((table.start({ _ in request }, deadline: deadline, now: Self.time(now)), request))
            if Int.random(in: 0..<20, using: &random) == 0 {
                table.repeatSoon(at: Self.time(now)) { $0.isMultiple(of: 2) }
            }
            if Bool.random(using: &random), let (number, request) = open.randomElement(using: &random),
                let ended = table.complete(number)
            {
                #expect(ended == request)
                ends[ended] += 1
            }
            // A pause longer than the wheel's circumference now and then.
            if Int.random(in: 0..<50, using: &random) == 0 { now += 4_000 }
            for case .timedOut(let request) in table.advance(to: Self.time(now)) { ends[request] += 1 }
        }
        for case .timedOut(let request) in table.advance(to: Self.time(now + 10_000)) { ends[request] += 1 }
        #expect(ends.allSatisfy { $0 == 1 })
        #expect(table.count == 0)
    }
}

@Suite struct InboundRequestsTests {
    @Test("a repetition is dropped while its request is in flight, and processed again after the response")
    func repetitions() {
        var requests = InboundRequests()
        let request = RequestKey(origin: Instance(1), number: RequestNumber(7))
        let other = RequestKey(origin: Instance(2), number: RequestNumber(7))
        #expect(requests.begin(request) == .new)
        #expect(requests.begin(request) == .alreadyInFlight)
        #expect(requests.begin(other) == .new)
        requests.end(request)
        #expect(requests.begin(request) == .new)
        #expect(requests.begin(other) == .alreadyInFlight)
    }

    @Test("a full table refuses requests")
    func full() {
        var requests = InboundRequests()
        for number in 0..<UInt64(InboundRequests.capacity) {
            _ = requests.begin(RequestKey(origin: Instance(1), number: RequestNumber(number)))
        }
        #expect(requests.begin(RequestKey(origin: Instance(2), number: RequestNumber(0))) == .full)
    }
}
