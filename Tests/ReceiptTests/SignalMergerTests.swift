import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Receipt

@Suite struct SignalMergerTests {
    private static let origin = Instance(1)
    private let conversation = ConversationID(UUIDBytes(high: 0, low: 1))

    private func signal(_ number: UInt64, _ user: String = "ann", delivered: Int64 = 0, read: Int64 = 0) -> MergedSignal
    {
        MergedSignal(
            key: HorizonKey(conversation: conversation, user: UserID(user)!),
            horizons: Horizons(delivered: delivered, read: read),
            requests: [RequestKey(origin: Self.origin, number: RequestNumber(number))])
    }

    private func time(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    @Test("the first signal passes at once, what follows within the window goes as one when it closes")
    func window() {
        var merger = SignalMerger(window: .milliseconds(100))
        _ = merger.add(signal(1, delivered: 1), at: time(0))
        #expect(merger.takeReady(10).map(\.horizons) == [Horizons(delivered: 1, read: 0)])
        for number in 2...9 { _ = merger.add(signal(UInt64(number), read: Int64(number)), at: time(number * 10)) }
        #expect(merger.readyCount == 0 && merger.nextEnd == time(100))
        merger.closeWindows(at: time(99))
        #expect(merger.readyCount == 0)
        merger.closeWindows(at: time(100))
        let merged = merger.takeReady(10)
        #expect(merged.map(\.horizons) == [Horizons(delivered: 0, read: 9)])
        #expect(merged[0].requests.map(\.number.rawValue) == Array(2...9))
    }

    @Test("a window in which nothing arrived is forgotten, and the next signal passes at once")
    func quiet() {
        var merger = SignalMerger(window: .milliseconds(100))
        _ = merger.add(signal(1, read: 1), at: time(0))
        _ = merger.takeReady(10)
        merger.closeWindows(at: time(100))
        #expect(merger.isEmpty && merger.nextEnd == nil)
        _ = merger.add(signal(2, read: 2), at: time(101))
        #expect(merger.readyCount == 1)
    }

    @Test("signals of different users do not wait for each other")
    func users() {
        var merger = SignalMerger(window: .milliseconds(100))
        for (number, user) in ["ann", "bob", "cy"].enumerated() {
            _ = merger.add(signal(UInt64(number), user, read: 1), at: time(0))
        }
        #expect(merger.takeReady(2).map(\.key.user.name) == ["ann", "bob"])
        #expect(merger.takeReady(2).map(\.key.user.name) == ["cy"])
    }

    @Test("a batch takes whole conversations, the one that waits longest first, and cuts none that fits into a batch")
    func conversations() {
        var merger = SignalMerger(window: .milliseconds(100))
        let places = [0, 1, 0, 2, 1, 0, 0, 2]
        for (number, place) in places.enumerated() {
            var signal = signal(UInt64(number), "user\(number)", read: 1)
            signal = MergedSignal(
                key: HorizonKey(
                    conversation: ConversationID(UUIDBytes(high: 0, low: UInt64(place))), user: signal.key.user),
                horizons: signal.horizons, requests: signal.requests)
            _ = merger.add(signal, at: time(number))
        }
        func take(_ limit: Int) -> [Int] { merger.takeReady(limit).map { Int($0.requests[0].number.rawValue) } }
        #expect(merger.readySince == time(0) && merger.readyCount == 8)
        #expect(take(3) == [0, 2, 5], "too many for a batch: it is cut")
        #expect(merger.readySince == time(0))
        #expect(take(4) == [6, 1, 4], "the next conversation would not fit whole")
        #expect(merger.readySince == time(3) && merger.readyCount == 2)
        #expect(take(4) == [3, 7])
        #expect(merger.readySince == nil && merger.readyCount == 0)
    }

    @Test("what is committed already needs no commit", arguments: [(5, 5), (5, 0), (3, 2), (0, 5)] as [(Int64, Int64)])
    func committed(delivered: Int64, read: Int64) {
        var merger = SignalMerger(window: .milliseconds(100))
        let first = signal(1, read: 5)
        _ = merger.add(first, at: time(0))
        #expect(merger.add(signal(2, delivered: delivered, read: read), at: time(1)) == .accepted)
        merger.committed(first.key, first.horizons)
        #expect(merger.add(signal(3, delivered: delivered, read: read), at: time(2)) == .alreadyCommitted)
        #expect(merger.add(signal(4, delivered: 6), at: time(3)) == .accepted)
    }

    @Test(
        "whatever the schedule: nothing is lost, no user occurs twice in a batch, none waits for more than a window",
        arguments: UInt64(0)..<50)
    func schedules(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var merger = SignalMerger(window: .milliseconds(100))
        var arrivals: [UInt64: (time: Int, read: Int64)] = [:]
        var answered: Set<UInt64> = []
        var now = 0

        func takeEverythingReady() {
            while merger.readyCount > 0 {
                let batch = merger.takeReady(.random(in: 1...4, using: &random))
                #expect(Set(batch.map(\.key)).count == batch.count)
                for merged in batch {
                    let numbers = merged.requests.map(\.number.rawValue)
                    #expect(merged.horizons.read == numbers.map { arrivals[$0]!.read }.max()!)
                    for number in numbers {
                        #expect(now - arrivals[number]!.time <= 100)
                        #expect(answered.insert(number).inserted)
                    }
                }
            }
        }

        for number in UInt64(1)...300 {
            now += .random(in: 0...20, using: &random)
            while let end = merger.nextEnd, end <= time(now) {
                let planned = now
                now = Int((end - time(0)).milliseconds)
                merger.closeWindows(at: end)
                takeEverythingReady()
                now = planned
            }
            let read = Int64.random(in: 1...50, using: &random)
            arrivals[number] = (now, read)
            let user = ["ann", "bob", "cy"].randomElement(using: &random)!
            _ = merger.add(signal(number, user, read: read), at: time(now))
            if Bool.random(using: &random) { takeEverythingReady() }
        }
        let last = merger.takeAll(at: time(now))
        #expect(Set(last.map(\.key)).count == last.count)
        let rest = last.flatMap(\.requests).map(\.number.rawValue)
        #expect(answered.isDisjoint(with: rest) && answered.union(rest).count == 300)
        #expect(merger.isEmpty)
    }
}
