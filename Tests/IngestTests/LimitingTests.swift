import Edge
import Models
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Ingest

/// At so many milliseconds after some start.
private func time(_ milliseconds: Int) -> MonotonicTime {
    MonotonicTime(nanoseconds: UInt64(1_000_000 + milliseconds) * 1_000_000)
}

/// A bucket that says what it did outside of the expression that expects it.
private final class Bucket {
    private let rate: TokenBucket.Rate
    private var bucket: TokenBucket

    init(perSecond: Int, burst: Int) {
        rate = TokenBucket.Rate(perSecond: perSecond, burst: burst)
        bucket = TokenBucket(rate, at: time(0))
    }

    func takes(_ cost: Int = 1, paid: Int = 0, at milliseconds: Int) -> Bool {
        bucket.take(cost, paid: paid, rate, at: time(milliseconds))
    }
}

@Suite struct TokenBucketTests {
    @Test("a burst passes, then as much as the rate gives")
    func burst() {
        let bucket = Bucket(perSecond: 10, burst: 5)
        for _ in 0..<5 { #expect(bucket.takes(at: 0)) }
        #expect(!bucket.takes(at: 0))
        #expect(!bucket.takes(at: 99))
        #expect(bucket.takes(at: 100))
        #expect(!bucket.takes(at: 100))
    }

    @Test("a bucket never holds more than the burst")
    func capped() {
        let bucket = Bucket(perSecond: 1000, burst: 5)
        #expect(bucket.takes(at: 0))
        #expect((0..<100).filter { _ in bucket.takes(at: 1_000_000) }.count == 5)
    }

    @Test("over a long time exactly the rate passes", arguments: [1, 3, 7, 10, 50])
    func rate(perSecond: Int) {
        let bucket = Bucket(perSecond: perSecond, burst: 1)
        let taken = (0..<100_000).filter { bucket.takes(at: $0) }
        #expect(abs(taken.count - perSecond * 100) <= 1)
    }

    @Test("what is large costs as much as it has items, at most a full bucket")
    func cost() {
        let bucket = Bucket(perSecond: 10, burst: 100)
        #expect(bucket.takes(90, at: 0))
        #expect(!bucket.takes(20, at: 0))
        #expect(bucket.takes(10, at: 0))
        let other = Bucket(perSecond: 10, burst: 100)
        #expect(other.takes(500, at: 0) && !other.takes(at: 0))
    }

    @Test("what was paid by the head counts, and comes back when the rest is not there")
    func paidBefore() {
        let bucket = Bucket(perSecond: 1, burst: 10)
        #expect(bucket.takes(1, at: 0) && bucket.takes(500, paid: 1, at: 0))
        // It never had more than a full bucket, so who waits long enough passes.
        #expect(bucket.takes(1, at: 5000) && !bucket.takes(500, paid: 1, at: 5000))
        #expect(bucket.takes(1, at: 10_000) && bucket.takes(500, paid: 1, at: 10_000))
    }
}

@Suite struct CallCostTests {
    @Test(
        "the cost of a call grows with its items",
        arguments: [
            (Call.send, 0, 1), (.sendBatch, 500, 500), (.sendBatch, 0, 1), (.createConversation, 1000, 1001),
            (.history, 50, 11), (.history, 200, 41), (.changes, 1000, 21), (.search, 0, 20), (.digest, 20, 100),
        ])
    func cost(call: Call, items: Int, cost: Int) { #expect(call.cost.of(items) == cost) }

    @Test("a body costs as many messages as it has KiB, unless its items cost more")
    func bodies() {
        #expect(Call.send.cost.of(0, bodyBytes: 2047) == 1)
        #expect(Call.send.cost.of(0, bodyBytes: 16 << 10) == 16)
        #expect(Call.sendBatch.cost.of(500, bodyBytes: 100_000) == 500)
        #expect(Call.sendBatch.cost.of(64, bodyBytes: 1 << 20) == 1024)
    }
}

@Suite struct UserAccountTests {
    init() { ReactorThread.start() }

    private let load = Load(LoadLimit(requests: 1000, bytes: 1000, arrivingBytes: 500))
    private let limit = UserLimit(
        rate: TokenBucket.Rate(perSecond: 1000, burst: 1000), costInFlight: 100, bytesInFlight: 200)

    @Reactor private func account(_ name: String = "anna") -> UserAccount {
        UserAccount(UserID(name)!, limit, load, at: time(0))
    }

    @Reactor private func isRefused(_ body: () throws(Problem) -> Void) -> Bool {
        do throws(Problem) { try body() } catch { return error.code == .rateLimited }
        return false
    }

    @Test("each user has a share of the requests in flight, by cost")
    @Reactor func share() throws {
        let anna = account(), ben = account("ben")
        anna.begin(weight: 95, bytes: 0)
        try anna.pay(for: .send, bodyBytes: 0, at: time(0))
        #expect(
            isRefused { () throws(Problem) in
                _ = try anna.pay(for: .history, items: 50, bodyBytes: 0, at: time(0))
            })
        _ = try ben.pay(for: .history, items: 50, bodyBytes: 0, at: time(0))
        anna.end(weight: 95, bytes: 0)
        _ = try anna.pay(for: .createConversation, items: 900, bodyBytes: 0, at: time(0))
    }

    @Test(
        "a body is charged once: by the head if that announces its length, else at its end", arguments: [true, false])
    @Reactor func paidBodies(isAnnounced: Bool) throws {
        let anna = account()
        for _ in 0..<2 {
            let size = 500 << 10
            try anna.pay(for: .sendBatch, bodyBytes: isAnnounced ? size : 0, at: time(0))
            if !isAnnounced { try anna.pay(for: .sendBatch, unannouncedBodyBytes: size, at: time(0)) }
            _ = try anna.pay(for: .sendBatch, items: 30, bodyBytes: size, at: time(0))
        }
        #expect(isRefused { () throws(Problem) in try anna.pay(for: .send, bodyBytes: 1 << 10, at: time(0)) })
    }

    @Test(
        "a user may have only a few of the expensive calls in flight",
        arguments: [(Call.search, 8), (.digest, 4), (.listConversations, 8), (.sync, 8)])
    @Reactor func expensiveCalls(call: Call, atOnce: Int) throws {
        let anna = account()
        for _ in 0..<atOnce {
            try anna.pay(for: call, bodyBytes: 0, at: time(0))
            anna.begin(weight: anna.weight(of: call), bytes: 0)
        }
        #expect(isRefused { () throws(Problem) in try anna.pay(for: call, bodyBytes: 0, at: time(0)) })
    }

    @Test("what a call turned out to carry is charged, though it is carried out, and what follows waits for it")
    @Reactor func carried() throws {
        let anna = account()
        anna.charge(bytes: 1_500, at: time(0))  // Paid by its head.
        try anna.pay(for: .sendBatch, bodyBytes: limit.rate.burst << 10, at: time(0))
        anna.charge(bytes: 11 << 10, at: time(0))
        #expect(isRefused { () throws(Problem) in try anna.pay(for: .send, bodyBytes: 0, at: time(0)) })
        let paid = 1_000 * 11 / limit.rate.perSecond
        #expect(isRefused { () throws(Problem) in try anna.pay(for: .send, bodyBytes: 0, at: time(paid - 1)) })
        try anna.pay(for: .send, bodyBytes: 0, at: time(paid + 1))
    }

    @Test("a user has a share of the bytes, arriving or in flight; an only body may be of any size")
    @Reactor func bytes() throws {
        let anna = account()
        try anna.pay(for: .sendBatch, bodyBytes: 400, at: time(0))
        #expect(anna.hold(bodyBytes: 150, of: 0) == nil)
        #expect(anna.hold(bodyBytes: 60, of: 0)?.status == 429)
        #expect(isRefused { () throws(Problem) in try anna.pay(for: .send, bodyBytes: 60, at: time(0)) })
        #expect(load.arrivingBytes == 150)
        anna.release(bodyBytes: 150)
        anna.begin(weight: 1, bytes: 400)
        #expect(load.arrivingBytes == 0 && load.bytes == 400)
        #expect(isRefused { () throws(Problem) in try anna.pay(for: .send, bodyBytes: 1, at: time(0)) })
        try anna.pay(for: .history, bodyBytes: 0, at: time(0))
    }

    @Test("a body above the share may arrive in pieces while it is the only one")
    @Reactor func pieces() {
        let anna = account()
        for held in [0, 150, 300] { #expect(anna.hold(bodyBytes: 150, of: held) == nil) }
        #expect(anna.hold(bodyBytes: 1, of: 0)?.status == 429)
        anna.release(bodyBytes: 450)
        #expect(anna.hold(bodyBytes: 50, of: 0) == nil && anna.hold(bodyBytes: 150, of: 0) == nil)
        #expect(anna.hold(bodyBytes: 10, of: 150)?.status == 429)
    }

    @Test("incomplete bodies leave half of the room to complete ones")
    @Reactor func arriving() {
        let users = (0..<5).map { account("user-\($0)") }
        #expect(users.map { $0.hold(bodyBytes: 150, of: 0)?.status } == [nil, nil, nil, 503, 503])
        #expect(load.hasRoom(bytes: 550) && !load.hasRoom(bytes: 551))
    }

    @Test("idle users take no memory, and a user with a request in flight is not evicted")
    @Reactor func forgotten() {
        var accounts = UserAccounts(limit, load)
        let busy = accounts.account(of: UserID("busy")!, at: time(0))
        busy.begin(weight: 1, bytes: 0)
        for number in 0..<100_000 {
            let user = accounts.account(of: UserID("user-\(number)")!, at: time(number))
            try? user.pay(for: .send, bodyBytes: 0, at: time(number))
        }
        #expect(accounts.count <= 4096)
        let found = accounts.account(of: UserID("busy")!, at: time(100_000))
        #expect(found === busy)
    }

    @Test("an account that a request refers to stays, so that no user has two")
    @Reactor func referred() {
        var accounts = UserAccounts(limit, load)
        let held = accounts.account(of: UserID("anna")!, at: time(0))
        for number in 0..<1000 { _ = accounts.account(of: UserID("user-\(number)")!, at: time(0)) }
        let found = accounts.account(of: UserID("anna")!, at: time(0))
        #expect(found === held)
        #expect(accounts.count < 10)
    }
}

@Suite struct LoadTests {
    init() { ReactorThread.start() }

    @Test("there is room up to the number of requests and up to the bytes, and an ended request releases its room")
    @Reactor func bounds() {
        let load = Load(LoadLimit(requests: 2, bytes: 100, arrivingBytes: 50))
        load.begin(bytes: 90)
        #expect(load.hasRoom(bytes: 10) && !load.hasRoom(bytes: 11) && !load.hasRoom(requests: 2, bytes: 0))
        load.begin(bytes: 0)
        #expect(!load.hasRoom(bytes: 0))
        load.end(bytes: 90)
        #expect(load.hasRoom(bytes: 100))
        #expect(load.requests == 1 && load.bytes == 0)
    }
}
