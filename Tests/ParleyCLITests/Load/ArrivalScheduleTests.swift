import Reactor
import TestSupport
import Testing

@testable import CommandSupport

@Suite struct ArrivalScheduleTests {
    init() { ReactorThread.start() }

    @Test("messages are due at equal distances, and far ahead without an error that adds up", arguments: [1, 3, 7000])
    func distances(rate: Int) {
        let schedule = ArrivalSchedule(start: MonotonicTime(nanoseconds: 5), perSecond: Double(rate))
        #expect(schedule.time(of: 0).nanoseconds == 5)
        #expect(schedule.time(of: rate * 3600).nanoseconds - 5 == 3600 * 1_000_000_000)
    }

    @Test("what was due while nobody could look is given out with the times it was due at")
    @Reactor func stall() async {
        var times: [MonotonicTime] = []
        let pacer = Pacer(rate: 1000) { times.append($0) }
        let start = MonotonicTime.now
        while MonotonicTime.now - start < .milliseconds(30) {}  // The reactor is busy elsewhere.
        await waitUntil { times.count >= 25 }
        pacer.stop()
        for (earlier, later) in zip(times, times.dropFirst()) {
            #expect((later - earlier).nanoseconds == 1_000_000)
        }
    }
}
