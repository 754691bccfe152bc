/// How long to wait before the next attempt: twice as long after each failure, and never as long as another client, so
/// that clients that failed together do not return together.
package struct Backoff: Sendable {
    private let first: Duration
    private let longest: Duration
    private var failures = 0

    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    package mutating func succeeded() { failures = 0 }

    /// The pause after one more failure: at least half of what it could be, and at least what the server asked for.
    package mutating func pause(
        atLeast asked: Duration? = nil, using random: inout SeededGenerator
    ) -> Duration {
        let whole = min(longest, first * Int(1 << min(failures, 20)))
        failures += 1
        let pause = whole / 2 * (1 + Double.random(in: 0...1, using: &random))
        guard let asked else { return pause }
        // Spread as well: everybody was asked to return at the same moment.
        return max(pause, asked + asked / 4 * Double.random(in: 0...1, using: &random))
    }
}

/// SplitMix64: a generator that a test can repeat. The application seeds it with a random number.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
