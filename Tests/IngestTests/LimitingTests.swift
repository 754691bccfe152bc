import Models
import Reactor
import Testing

@testable import Ingest

/// A limiter that says what it did outside of the expression that expects it.
private final class Limiter {
    private var limiter: RateLimiter
    init(perSecond: Int, burst: Int) { limiter = RateLimiter(RateLimiter.Rate(perSecond: perSecond, burst: burst)) }

    var users: Int { limiter.count }

    /// At so many milliseconds after some start.
    func admits(_ user: String = "anna", cost: Int = 1, at milliseconds: Int) -> Bool {
        let time = MonotonicTime(nanoseconds: UInt64(1_000_000 + milliseconds) * 1_000_000)
        return limiter.admit(UserID(user)!, cost: cost, at: time)
    }
}

@Suite struct RateLimiterTests {
    @Test("a burst passes, then as much as the rate gives, and one user takes nothing from another")
    func burst() {
        let limiter = Limiter(perSecond: 10, burst: 5)
        for _ in 0..<5 { #expect(limiter.admits(at: 0)) }
        #expect(!limiter.admits(at: 0))
        #expect(limiter.admits("ben", at: 0))
        #expect(!limiter.admits(at: 99))
        #expect(limiter.admits(at: 100))
        #expect(!limiter.admits(at: 100))
    }

    @Test("a bucket never holds more than the burst")
    func capped() {
        let limiter = Limiter(perSecond: 1000, burst: 5)
        #expect(limiter.admits(at: 0))
        #expect((0..<100).filter { _ in limiter.admits(at: 1_000_000) }.count == 5)
    }

    @Test("over a long time exactly the rate passes", arguments: [1, 3, 7, 10, 50])
    func rate(perSecond: Int) {
        let limiter = Limiter(perSecond: perSecond, burst: 1)
        let admitted = (0..<100_000).filter { limiter.admits(at: $0) }
        #expect(abs(admitted.count - perSecond * 100) <= 1)
    }

    @Test("a batch costs as much as its messages, at most a full bucket")
    func cost() {
        let limiter = Limiter(perSecond: 10, burst: 100)
        #expect(limiter.admits(cost: 90, at: 0))
        #expect(!limiter.admits(cost: 20, at: 0))
        #expect(limiter.admits(cost: 10, at: 0))
        #expect(limiter.admits("ben", cost: 500, at: 0))
        #expect(!limiter.admits("ben", at: 0))
    }

    @Test("users that have been quiet take no memory")
    func cleaning() {
        let limiter = Limiter(perSecond: 1000, burst: 10)
        for number in 0..<100_000 { _ = limiter.admits("user-\(number)", at: number) }
        #expect(limiter.users <= 4096)
    }
}

@Suite struct LoadTests {
    @Test("there is room up to the number of requests and up to the bytes, and what ends gives its room back")
    func bounds() {
        var load = Load(LoadLimit(requests: 2, bytes: 100))
        load.begin(bytes: 90)
        #expect(load.hasRoom(bytes: 10) && !load.hasRoom(bytes: 11))
        load.begin(bytes: 0)
        #expect(!load.hasRoom(bytes: 0))
        load.end(bytes: 90)
        #expect(load.hasRoom(bytes: 100))
        #expect(load.requests == 1 && load.bytes == 0)
    }
}
