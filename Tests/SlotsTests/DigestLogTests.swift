import Models
import Testing
import Wire

@testable import Slots

@Suite struct DigestLogTests {
    private let slot = Slot(7)
    private let stream = StreamKey.conversation(ConversationID(UUIDBytes(high: 1, low: 7)))
    private let other = StreamKey.user(UserID("ann")!)

    @Test("digests with content count up, those without repeat the number")
    func numbers() {
        var log = DigestLog()
        log.acquired(slot, epoch: 3)
        #expect(log.takeDigests() == [DigestEntry(slot: slot, epoch: 3, number: 0, moved: [])])
        log.note(StreamPosition(stream, 5), in: slot)
        #expect(
            log.takeDigests() == [DigestEntry(slot: slot, epoch: 3, number: 1, moved: [StreamPosition(stream, 5)])])
        #expect(log.takeDigests() == [DigestEntry(slot: slot, epoch: 3, number: 1, moved: [])])
    }

    @Test("a doubtful slot skips a number, so subscribers find one missing, with or without content")
    func doubt() {
        var log = DigestLog()
        log.acquired(slot, epoch: 3)
        log.doubt(slot)
        #expect(log.takeDigests() == [DigestEntry(slot: slot, epoch: 3, number: 1, moved: [])])
        log.note(StreamPosition(stream, 5), in: slot)
        log.doubt(slot)
        #expect(
            log.takeDigests() == [DigestEntry(slot: slot, epoch: 3, number: 3, moved: [StreamPosition(stream, 5)])])
        log.doubt(Slot(8))
        #expect(log.takeDigests().count == 1)
    }

    @Test("a digest has the highest of several positions of a stream, whatever their order")
    func highest() {
        var log = DigestLog()
        log.acquired(slot, epoch: 1)
        for position in [4, 6, 5] as [Int64] { log.note(StreamPosition(stream, position), in: slot) }
        log.note(StreamPosition(other, 1), in: slot)
        let digest = log.takeDigests()[0]
        #expect(Set(digest.moved) == [StreamPosition(stream, 6), StreamPosition(other, 1)])
    }

    @Test("a slot acquired again starts at its new epoch without content of the former one")
    func epochs() {
        var log = DigestLog()
        log.acquired(slot, epoch: 1)
        log.note(StreamPosition(stream, 1), in: slot)
        log.lost(slot)
        log.note(StreamPosition(stream, 2), in: slot)
        #expect(log.takeDigests().isEmpty)
        log.acquired(slot, epoch: 2)
        #expect(log.takeDigests() == [DigestEntry(slot: slot, epoch: 2, number: 0, moved: [])])
    }
}
