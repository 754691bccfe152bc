import Reactor
import Testing

@testable import Store

@Suite struct ImportPaceTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func after(_ milliseconds: Int) -> MonotonicTime { start + .milliseconds(milliseconds) }

    @Test("alone, imports have as many batches in flight as others, and never rest")
    func alone() {
        var pace = ImportPace()
        #expect(pace.begin(inFlight: 1, at: start) == start)
        #expect(pace.begin(inFlight: Writer.batchesInFlight, at: start) == nil)
        pace.ended(begun: start, at: after(20))
        #expect(pace.begin(inFlight: 1, at: after(20)) == after(20))
    }

    @Test("beside others there is one batch at a time, and behind each a rest of three times as long")
    func besideOthers() {
        var pace = ImportPace()
        pace.noteOthers(at: start)
        #expect(pace.begin(inFlight: 1, at: start) == nil)
        #expect(pace.begin(inFlight: 0, at: start) == start)
        pace.ended(begun: start, at: after(20))
        #expect(pace.begin(inFlight: 0, at: after(20)) == after(80))
        #expect(pace.begin(inFlight: 1, at: after(90)) == nil)
    }

    @Test("no rest is longer than half a second, however long a batch took")
    func longBatch() {
        var pace = ImportPace()
        pace.noteOthers(at: after(9_900))
        pace.ended(begun: start, at: after(10_000))
        #expect(pace.begin(inFlight: 0, at: after(10_000)) == after(10_500))
    }

    @Test("half a second after the last command of others, imports have everything again")
    func quiet() {
        var pace = ImportPace()
        pace.noteOthers(at: start)
        #expect(pace.areOthersThere(at: after(499)))
        #expect(!pace.areOthersThere(at: after(500)))
        pace.ended(begun: after(490), at: after(510))
        #expect(pace.begin(inFlight: 1, at: after(510)) == after(510))
    }
}
