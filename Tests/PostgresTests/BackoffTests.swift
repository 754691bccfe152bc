import TestSupport
import Testing

@testable import Postgres

@Suite struct BackoffTests {
    @Test(
        "waits double up to the limit, each shortened by at most a half, and start again after a success",
        arguments: UInt64(0)..<20)
    func growth(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var backoff = Backoff(first: .milliseconds(50), limit: .seconds(1))
        for full in [50, 100, 200, 400, 800, 1000, 1000] {
            let delay = backoff.delay(using: &random)
            #expect(delay <= .milliseconds(full) && delay >= .milliseconds(full / 2))
        }
        backoff.reset()
        #expect(backoff.delay(using: &random) <= .milliseconds(50))
    }
}
