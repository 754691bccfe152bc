import Reactor
import Testing

@testable import Receipt

@Suite struct BatchPaceTests {
    private func time(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    @Test("without messages a batch begins at once while another is on its way, and not while two are")
    func alone() {
        var pace = BatchPace()
        pace.ended(begun: time(0), at: time(50))
        #expect(pace.begin(since: time(51), isFull: false, inFlight: 0, amongMessages: false) == time(51))
        #expect(pace.begin(since: time(51), isFull: false, inFlight: 1, amongMessages: false) == time(51))
        #expect(pace.begin(since: time(51), isFull: false, inFlight: 2, amongMessages: false) == nil)
    }

    @Test(
        "among messages one batch is on its way, and behind it is a rest of three times as long, full or not",
        arguments: [false, true])
    func amongMessages(isFull: Bool) {
        var pace = BatchPace()
        #expect(pace.begin(since: time(0), isFull: isFull, inFlight: 0, amongMessages: true) == time(0))
        #expect(pace.begin(since: time(0), isFull: isFull, inFlight: 1, amongMessages: true) == nil)
        pace.ended(begun: time(0), at: time(20))
        #expect(pace.begin(since: time(5), isFull: isFull, inFlight: 0, amongMessages: true) == time(80))
        #expect(
            pace.begin(since: time(85), isFull: isFull, inFlight: 0, amongMessages: true) == time(85),
            "the rest is over")
    }

    @Test("behind a short batch signals gather for 50 ms; what comes later does not wait, nor does a whole batch")
    func gathering() {
        var pace = BatchPace()
        pace.ended(begun: time(0), at: time(2))
        #expect(pace.begin(since: time(1), isFull: false, inFlight: 0, amongMessages: true) == time(52))
        #expect(pace.begin(since: time(51), isFull: false, inFlight: 0, amongMessages: true) == time(52))
        #expect(pace.begin(since: time(60), isFull: false, inFlight: 0, amongMessages: true) == time(60))
        #expect(pace.begin(since: time(1), isFull: true, inFlight: 0, amongMessages: true) == time(8))
        #expect(pace.begin(since: time(1), isFull: false, inFlight: 0, amongMessages: false) == time(1))
    }

    @Test("nobody is put off by a rest for more than half a second")
    func bound() {
        var pace = BatchPace()
        pace.ended(begun: time(0), at: time(1_000))
        #expect(pace.begin(since: time(900), isFull: false, inFlight: 0, amongMessages: true) == time(1_400))
        #expect(
            pace.begin(since: time(100), isFull: false, inFlight: 0, amongMessages: true) == time(600),
            "which is past: at once")
    }

    @Test("a day: each signal waits for the end of one rest at most, and batches are as seldom as that allows")
    func schedule() {
        var pace = BatchPace()
        var begun: [Int] = []
        var waiting: [Int] = [], longest = 0
        var end: Int?
        for now in 0..<10_000 {
            if let ended = end, ended == now {
                pace.ended(begun: time(begun.last!), at: time(now))
                end = nil
            }
            if now % 7 == 0 { waiting.append(now) }
            guard let first = waiting.first,
                let begin = pace.begin(
                    since: time(first), isFull: false, inFlight: end == nil ? 0 : 1, amongMessages: true),
                begin <= time(now)
            else { continue }
            longest = max(longest, now - first)
            waiting = []
            begun.append(now)
            end = now + 3
        }
        #expect(longest <= 53, "a batch of others, and the gathering behind it")
        #expect(begun.count <= 10_000 / 53 + 1)
    }
}
