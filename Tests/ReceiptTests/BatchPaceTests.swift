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
        #expect(pace.begin(since: time(51), inFlight: 0, amongMessages: false) == time(51))
        #expect(pace.begin(since: time(51), inFlight: 1, amongMessages: false) == time(51))
        #expect(pace.begin(since: time(51), inFlight: 2, amongMessages: false) == nil)
    }

    @Test("among messages one batch is on its way, and behind it is a rest of three times as long")
    func amongMessages() {
        var pace = BatchPace()
        #expect(pace.begin(since: time(0), inFlight: 0, amongMessages: true) == time(0))
        #expect(pace.begin(since: time(0), inFlight: 1, amongMessages: true) == nil)
        pace.ended(begun: time(0), at: time(10))
        #expect(pace.begin(since: time(5), inFlight: 0, amongMessages: true) == time(40))
        #expect(pace.begin(since: time(45), inFlight: 0, amongMessages: true) == time(45), "the rest is over")
    }

    @Test("behind a short batch, too, signals gather for a while; a signal that comes later does not wait")
    func shortBatches() {
        var pace = BatchPace()
        pace.ended(begun: time(0), at: time(1))
        #expect(pace.begin(since: time(1), inFlight: 0, amongMessages: true) == time(21))
        #expect(pace.begin(since: time(30), inFlight: 0, amongMessages: true) == time(30))
        #expect(pace.begin(since: time(1), inFlight: 0, amongMessages: false) == time(1))
    }

    @Test("nobody is put off by a rest for more than half a second")
    func bound() {
        var pace = BatchPace()
        pace.ended(begun: time(0), at: time(1_000))
        #expect(pace.begin(since: time(900), inFlight: 0, amongMessages: true) == time(1_400))
        #expect(pace.begin(since: time(100), inFlight: 0, amongMessages: true) == time(600), "which is past: at once")
    }
}
