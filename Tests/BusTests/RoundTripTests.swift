import Reactor
import Testing

@testable import Bus

@Suite struct RoundTripTests {
    private func after(_ milliseconds: [Int], from start: RoundTrip = RoundTrip()) -> RoundTrip {
        milliseconds.reduce(into: start) { roundTrip, milliseconds in
            let sent = MonotonicTime(nanoseconds: 5_000_000_000)
            roundTrip.add(from: sent, to: sent + .milliseconds(milliseconds))
        }
    }

    private func steady(_ milliseconds: Int) -> [Int] { Array(repeating: milliseconds, count: 40) }

    @Test("before the first response nothing is known")
    func beginning() { #expect(RoundTrip().bound == .zero) }

    @Test("while commands wait in a queue, repetitions wait as long", arguments: [150, 300, 800])
    func queue(milliseconds: Int) {
        let bound = after(steady(2) + steady(milliseconds)).bound
        #expect(bound >= .milliseconds(milliseconds - 10) && bound <= .milliseconds(2 * milliseconds))
    }

    @Test("times that differ leave room for the longer ones")
    func spread() {
        let bound = after((0..<200).map { $0 % 4 == 0 ? 300 : 100 }).bound
        #expect(bound > .milliseconds(300))
    }

    @Test("an outage is forgotten within some responses, and never counts for more than a second")
    func outage() {
        let outage = after(steady(2) + [5_000, 30_000, 5_000])
        #expect(outage.bound <= RoundTrip.limit)
        #expect(after(steady(2), from: outage).bound < .milliseconds(100))
    }

    @Test("a clock that did not move is no time")
    func standing() { #expect(after([0, 0]).bound == .zero) }
}
