import Models
import TestSupport
import Testing

@testable import Fanout

@Suite struct DigestTrackerTests {
    static let slot = Slot(7)

    @Test("the first digest of a slot proves nothing about what came before")
    func first() {
        var tracker = DigestTracker()
        #expect(tracker.note(Self.slot, epoch: 3, number: 0, hasContent: false) == .incomplete)
        #expect(tracker.note(Self.slot, epoch: 3, number: 0, hasContent: false) == .complete)
        #expect(tracker.note(Slot(8), epoch: 3, number: 0, hasContent: false) == .incomplete)
    }

    @Test("numbers without a gap are complete; a gap, or an empty digest that reveals a lost one, is not")
    func numbers() {
        var tracker = DigestTracker()
        _ = tracker.note(Self.slot, epoch: 3, number: 4, hasContent: true)
        #expect(tracker.note(Self.slot, epoch: 3, number: 5, hasContent: true) == .complete)
        #expect(tracker.note(Self.slot, epoch: 3, number: 5, hasContent: false) == .complete)
        #expect(tracker.note(Self.slot, epoch: 3, number: 7, hasContent: true) == .incomplete)
        #expect(tracker.note(Self.slot, epoch: 3, number: 8, hasContent: false) == .incomplete)
        #expect(
            tracker.note(Self.slot, epoch: 3, number: 6, hasContent: true) == .complete, "late, but already covered")
    }

    @Test("a higher epoch is a new owner, a lower one a former owner")
    func epochs() {
        var tracker = DigestTracker()
        _ = tracker.note(Self.slot, epoch: 3, number: 9, hasContent: true)
        #expect(tracker.note(Self.slot, epoch: 4, number: 1, hasContent: true) == .incomplete)
        #expect(tracker.note(Self.slot, epoch: 3, number: 10, hasContent: true) == .outdated)
        #expect(tracker.note(Self.slot, epoch: 4, number: 2, hasContent: true) == .complete)
    }
}

@Suite struct PositionRecorderTests {
    @Test("positions are recorded from the first bootstrap's query to the last response, and not beyond")
    func bootstraps() {
        var recorder = PositionRecorder<Int>()
        recorder.record(1, 10)
        recorder.beginBootstrap()
        #expect(recorder.finding(for: 1, in: Slot(0)) == .nothing)
        recorder.record(1, 11)
        recorder.record(1, 9)
        recorder.beginBootstrap()
        recorder.endBootstrap()
        #expect(recorder.finding(for: 1, in: Slot(0)) == .position(11))
        recorder.endBootstrap()
        #expect(recorder.finding(for: 1, in: Slot(0)) == .nothing)
    }

    @Test("missed digests put their slot in doubt")
    func missed() {
        var recorder = PositionRecorder<Int>()
        recorder.beginBootstrap()
        recorder.recordLoss(in: Slot(3))
        #expect(recorder.finding(for: 1, in: Slot(3)) == .doubt)
        #expect(recorder.finding(for: 1, in: Slot(4)) == .nothing)
    }

    @Test("more streams than the capacity put all in doubt")
    func overflow() {
        var recorder = PositionRecorder<Int>()
        recorder.beginBootstrap()
        for key in 0..<PositionRecorder<Int>.capacity { recorder.record(key, 1) }
        #expect(recorder.finding(for: -1, in: Slot(0)) == .nothing)
        recorder.record(-1, 1)
        #expect(recorder.finding(for: -2, in: Slot(0)) == .doubt)
    }
}

@Suite struct StatusStreamTests {
    @Test("the next version is delivered, an old one is not, and after a gap the merged one is queried once")
    func gap() {
        var stream = StatusStream(version: 2)
        #expect(stream.announce(3) == .next)
        #expect(stream.announce(3) == .old)
        #expect(stream.announce(5) == .early)
        let (plan, again) = (stream.planRepair(), stream.planRepair())
        #expect(plan && !again)
        let after = stream.beginRepair()
        let isDelivered = stream.endRepair(6)
        #expect(after == 3 && isDelivered)
        #expect(stream.version == 6)
    }

    @Test("a failed repair leaves the stream behind, to be planned again")
    func failure() {
        var stream = StatusStream(version: 0)
        stream.learn(2)
        _ = stream.planRepair()
        _ = stream.beginRepair()
        let isDelivered = stream.endRepair(nil)
        #expect(!isDelivered)
        let isPlanned = stream.planRepair()
        #expect(isPlanned)
    }

    @Test("every version is delivered once, alone or merged, whatever the bus does", arguments: UInt64(0)..<200)
    func faultyBus(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var stream = StatusStream(version: 0)
        var delivered: [ClosedRange<Int64>] = []
        var committed: Int64 = 0
        var isPlanned = false
        for _ in 0..<200 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: committed += 1
            case 1 where committed > 0:
                let version = Int64.random(in: 1...committed, using: &random)
                let before = stream.version
                if stream.announce(version) == .next { delivered.append(before + 1...version) }
            case 2: stream.learn(committed)
            default:
                if isPlanned, let after = stream.beginRepair() {
                    isPlanned = false
                    if stream.endRepair(Bool.random(using: &random) ? committed : nil) {
                        delivered.append(after + 1...committed)
                    }
                }
            }
            if stream.planRepair() { isPlanned = true }
        }
        #expect(
            delivered.map(\.lowerBound) == [1] + delivered.dropLast().map { $0.upperBound + 1 } || delivered.isEmpty,
            "seed \(seed)")
    }
}
