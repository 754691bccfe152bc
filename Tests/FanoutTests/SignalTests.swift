import Models
import Reactor
import Testing
import Wire

@testable import Fanout

private let conversation = ConversationID(UUIDBytes("01890000-0000-7000-8000-000000000011")!)
private let anna = UserID("anna")!

@Suite struct ReceiptSignalsTests {
    static let key = ReceiptSignals.Key(conversation: conversation, user: anna)

    @Test("signals are merged to the highest positions, one on its way and one waiting")
    func merging() {
        var signals = ReceiptSignals()
        for seq in [3, 9, 5] as [Int64] { _ = signals.add(Self.key, delivered: seq) }
        _ = signals.add(Self.key, delivered: 4, read: 4)
        let sent = signals.takeReady()
        #expect(sent == [ReceiptSignal(conversation, user: anna, delivered: 9, read: 4)])
        _ = signals.add(Self.key, read: 8)
        let readyMeanwhile = signals.takeReady()
        let waits = signals.finished(sent[0])
        let readyThen = signals.takeReady()
        #expect(readyMeanwhile.isEmpty && waits)
        #expect(readyThen.map(\.read) == [8])
    }

    @Test("what receipt did not take is sent again, merged with what came since")
    func failure() {
        var signals = ReceiptSignals()
        _ = signals.add(Self.key, delivered: 7)
        let sent = signals.takeReady()
        _ = signals.add(Self.key, delivered: 6, read: 6)
        let isFirst = signals.failed(sent[0])
        _ = signals.add(Self.key, read: 5)
        let early = signals.takeReady()
        signals.resume()
        let again = signals.takeReady()
        #expect(isFirst && early.isEmpty, "a busy process does not send it again with every turn")
        #expect(again == [ReceiptSignal(conversation, user: anna, delivered: 7, read: 6)])
    }

    @Test("beyond the stated number signals are dropped, known ones are still merged")
    func full() {
        var signals = ReceiptSignals()
        for number in 0..<UInt64(ReceiptSignals.capacity) {
            let other = ConversationID(UUIDBytes(high: 0, low: number))
            _ = signals.add(ReceiptSignals.Key(conversation: other, user: anna), delivered: 1)
        }
        let (isNewAdded, isKnownAdded) = (
            signals.add(Self.key, delivered: 1),
            signals.add(
                ReceiptSignals.Key(conversation: ConversationID(UUIDBytes(high: 0, low: 5)), user: anna), delivered: 2)
        )
        #expect(!isNewAdded && isKnownAdded)
    }
}

@Suite struct TypingTableTests {
    static let key = TypingTable.Key(conversation: conversation, user: anna)

    static func second(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000 + UInt64(seconds * 1e9))
    }

    @Test("typing that goes on is passed on every three seconds")
    func throttled() {
        var table = TypingTable()
        let told = stride(from: 0.0, through: 10, by: 0.5).filter { table.started(Self.key, at: Self.second($0)) }
        #expect(told == [0, 3, 6, 9])
    }

    @Test("six seconds without a word end it, and so does saying so, once")
    func ends() {
        var table = TypingTable()
        _ = table.started(Self.key, at: Self.second(0))
        _ = table.started(Self.key, at: Self.second(2))
        let early = table.takeExpired(at: Self.second(7.9))
        let late = table.takeExpired(at: Self.second(8))
        #expect(early.isEmpty && late == [Self.key])
        let isNews = table.started(Self.key, at: Self.second(9))
        let ends = [table.stopped(Self.key), table.stopped(Self.key)]
        #expect(isNews && ends == [true, false])
    }
}
