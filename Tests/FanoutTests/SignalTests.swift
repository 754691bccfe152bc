import Models
import Reactor
import Testing
import Wire

@testable import Fanout

private let conversation = ConversationID(UUIDBytes("01890000-0000-7000-8000-000000000011")!)
private let anna = UserID("anna")!

extension ReceiptSignals {
    fileprivate mutating func takeAllReady() -> [ReceiptSignal] {
        var ready: [ReceiptSignal] = []
        while let signal = takeReady() { ready.append(signal) }
        return ready
    }
}

@Suite struct ReceiptSignalsTests {
    static let key = ReceiptSignals.Key(conversation: conversation, user: anna)

    @Test("signals are merged to the highest positions, one in flight and one waiting")
    func merging() {
        var signals = ReceiptSignals()
        for seq in [3, 9, 5] as [Int64] { _ = signals.add(Self.key, delivered: seq) }
        _ = signals.add(Self.key, delivered: 4, read: 4)
        let sent = signals.takeAllReady()
        #expect(sent == [ReceiptSignal(conversation, user: anna, delivered: 9, read: 4)])
        _ = signals.add(Self.key, read: 8)
        let readyMeanwhile = signals.takeAllReady()
        let waits = signals.finished(sent[0])
        let readyThen = signals.takeAllReady()
        #expect(readyMeanwhile.isEmpty && waits)
        #expect(readyThen.map(\.read) == [8])
    }

    @Test("a failed signal is sent again, merged with later ones")
    func failure() {
        var signals = ReceiptSignals()
        _ = signals.add(Self.key, delivered: 7)
        let sent = signals.takeAllReady()
        _ = signals.add(Self.key, delivered: 6, read: 6)
        let isFirst = signals.failed(sent[0])
        _ = signals.add(Self.key, read: 5)
        let early = signals.takeAllReady()
        signals.resume()
        let again = signals.takeAllReady()
        #expect(isFirst && early.isEmpty, "a failed signal is not sent again with every turn")
        #expect(again == [ReceiptSignal(conversation, user: anna, delivered: 7, read: 6)])
    }

    static func key(_ number: Int, _ user: UserID = anna) -> ReceiptSignals.Key {
        ReceiptSignals.Key(conversation: ConversationID(UUIDBytes(high: 0, low: UInt64(number))), user: user)
    }

    @Test("a user takes at most their share, known signals are still merged, and others have room")
    func share() {
        var signals = ReceiptSignals()
        for number in 0..<ReceiptSignals.share { _ = signals.add(Self.key(number), delivered: 1) }
        let ben = UserID("ben")!
        let added = [
            signals.add(Self.key(-1 + ReceiptSignals.share), delivered: 2),
            signals.add(Self.key(ReceiptSignals.share), delivered: 1), signals.add(Self.key(0, ben), delivered: 1),
        ]
        #expect(added == [true, false, true])
        // Signals in flight count until they are finished, failed ones until they were repeated.
        let sent = signals.takeReady()!
        #expect(!signals.hasRoom(for: anna))
        _ = signals.failed(sent)
        #expect(!signals.hasRoom(for: anna))
        signals.resume()
        _ = signals.takeReady().map { signals.finished($0) }
        #expect(signals.hasRoom(for: anna))
    }

    @Test("beyond the capacity no signal is added, whoever it is from")
    func full() {
        var signals = ReceiptSignals()
        for number in 0..<ReceiptSignals.capacity {
            _ = signals.add(Self.key(number, UserID("user\(number % 16)")!), delivered: 1)
        }
        let isAdded = signals.add(Self.key, delivered: 1)
        #expect(signals.count == ReceiptSignals.capacity && !isAdded)
    }

    @Test("signals in flight are bounded, and each response makes room for one")
    func inFlight() {
        var signals = ReceiptSignals()
        for number in 0..<3 * ReceiptSignals.share {
            _ = signals.add(Self.key(number, UserID("user\(number % 3)")!), delivered: 1)
        }
        let sent = signals.takeAllReady()
        #expect(sent.count == 8_192 && signals.count == 3 * ReceiptSignals.share)
        _ = signals.finished(sent[0])
        _ = signals.failed(sent[1])
        #expect(signals.takeAllReady().count == 2)
    }

    @Test("every user's count is zero again when all signals are finished, whatever failed or was added meanwhile")
    func counts() {
        var signals = ReceiptSignals()
        for round in 0..<3 {
            for number in 0..<100 { _ = signals.add(Self.key(number), delivered: Int64(round + 1)) }
            for (number, signal) in signals.takeAllReady().enumerated() {
                if number % 2 == 0 { _ = signals.add(Self.key(number), delivered: Int64(round + 2)) }
                if number % 3 == 0 { _ = signals.failed(signal) } else { _ = signals.finished(signal) }
            }
            signals.resume()
        }
        while signals.count > 0 { for signal in signals.takeAllReady() { _ = signals.finished(signal) } }
        let added = (0..<ReceiptSignals.share).count { signals.add(Self.key($0), delivered: 9) }
        #expect(added == ReceiptSignals.share && !signals.hasRoom(for: anna))
    }
}

@Suite struct TypingTableTests {
    static let key = TypingTable.Key(conversation: conversation, user: anna)

    static func second(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000 + UInt64(seconds * 1e9))
    }

    @Test("continued typing is announced every three seconds")
    func throttled() {
        var table = TypingTable()
        let announced = stride(from: 0.0, through: 10, by: 0.5).filter { table.started(Self.key, at: Self.second($0)) }
        #expect(announced == [0, 3, 6, 9])
    }

    @Test("repeated starts and stops are announced as one start and one stop every three seconds")
    func toggles() {
        var table = TypingTable()
        var announced: [(at: Double, isActive: Bool)] = []
        for number in 0..<80 {
            let now = Double(number) / 8
            let isActive = number % 2 == 0
            let isChange = isActive ? table.started(Self.key, at: Self.second(now)) : table.stopped(Self.key)
            if isChange { announced.append((now, isActive)) }
            _ = table.takeExpired(at: Self.second(now))
        }
        #expect(announced.map(\.at) == [0, 0.125, 3, 3.125, 6, 6.125, 9, 9.125])
        #expect(announced.map(\.isActive) == [true, false, true, false, true, false, true, false])
        let expired = table.takeExpired(at: Self.second(13))
        #expect(expired.isEmpty && table.isEmpty)
    }

    @Test("typing ends after six seconds without a frame, or with a stop, once")
    func ends() {
        var table = TypingTable()
        _ = table.started(Self.key, at: Self.second(0))
        _ = table.started(Self.key, at: Self.second(2))
        let early = table.takeExpired(at: Self.second(7.9))
        let late = table.takeExpired(at: Self.second(8))
        #expect(early.isEmpty && late == [Self.key])
        let isChange = table.started(Self.key, at: Self.second(9))
        let ends = [table.stopped(Self.key), table.stopped(Self.key)]
        #expect(isChange && ends == [true, false])
    }
}
