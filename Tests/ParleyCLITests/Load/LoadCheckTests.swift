import Models
import Testing

@testable import ParleyLoad

@Suite struct LoadCheckTests {
    private func id(_ number: Int, conversation: Int = 3) -> MessageID {
        MessageNumber(run: 1, conversation: conversation, number: number).id(milliseconds: 1)
    }

    private func change(_ seq: Int64, _ number: Int?, conversation: Int = 3) -> ArrivedChange {
        var change = ArrivedChange(conversation: ConversationID(.zero), seq: seq)
        change.message = number.map { id($0, conversation: conversation) }
        return change
    }

    // MARK: Sessions

    private func verdicts(_ changes: [ArrivedChange]) -> [StreamCheck.Verdict] {
        var check = StreamCheck(run: 1, conversation: 3, after: 1, tally: Tally())
        return changes.map { check.take($0) }.filter { $0 != .fine }
    }

    @Test("changes that come once and in order are fine, messages or not")
    func fineStream() {
        #expect(verdicts([change(2, 1), change(3, nil), change(4, 0)]) == [])
    }

    @Test("a change that is missing, comes twice, late, or from elsewhere is told")
    func brokenStream() {
        #expect(verdicts([change(2, 0), change(5, 1)]) == [.broken("changes 3 to 4 did not come")])
        #expect(verdicts([change(2, 0), change(2, 0)]) == [.broken("change 2 came twice or out of order")])
        #expect(verdicts([change(3, 0), change(2, 1)]).count == 2)
        #expect(verdicts([change(2, 0, conversation: 4)]).count == 1)
    }

    @Test("what came by pages counts as what came by the socket, in whatever order")
    func pagedStream() {
        var live = StreamCheck(run: 1, conversation: 3, after: 1, tally: Tally())
        for number in 0..<10 { _ = live.take(change(Int64(2 + number), number)) }
        var paged = StreamCheck(run: 1, conversation: 3, after: 1, tally: Tally())
        _ = paged.take(change(2, 0))
        #expect(paged.skip(to: 8) == 3..<9)
        for number in 7..<10 { #expect(paged.take(change(Int64(2 + number), number)) == .fine) }
        for number in 1..<7 { paged.takePaged(change(Int64(2 + number), number)) }
        #expect(paged.tally == live.tally)
    }

    @Test("tallies of the same messages are equal in any order, and differ by one lost, doubled, or moved")
    func tallies() {
        func tally(_ pairs: [(Int, Int64)]) -> Tally {
            var tally = Tally()
            for (number, seq) in pairs { tally.add(number: number, seq: seq) }
            return tally
        }
        let all = (0..<1000).map { ($0, Int64($0 + 2)) }
        #expect(tally(all) == tally(all.shuffled()))
        #expect(tally(all) != tally(all.dropLast()))
        #expect(tally(all) != tally(all + [(5, 7), (5, 7)]))
        #expect(tally([(0, 2), (1, 3)]) != tally([(0, 3), (1, 2)]))
    }

    // MARK: History

    private struct Entry {
        let number: Int
        let seq: Int64
        var isIntact = true
    }

    private static let faithful = (0..<5).map { Entry(number: $0, seq: Int64($0 + 2)) }

    private func audit(_ history: [Entry], changes: [Int64] = Array(1...6), lastSeq: Int64 = 6) -> [String] {
        var acknowledged = Tally()
        for entry in Self.faithful { acknowledged.add(number: entry.number, seq: entry.seq) }
        var audit = HistoryAudit("c", run: 1, conversation: 3, sent: 5, acknowledged: acknowledged, lastSeq: 6)
        for entry in history { audit.take(message: id(entry.number), at: entry.seq, isIntact: entry.isIntact) }
        for seq in changes { audit.take(changeAt: seq) }
        audit.finish(lastSeq: lastSeq)
        return audit.mismatches.samples
    }

    @Test("a history that holds what was acknowledged is fine")
    func faithfulHistory() {
        #expect(audit(Self.faithful) == [])
    }

    @Test("what a history has lost, doubled, moved, changed or invented is named")
    func unfaithfulHistory() {
        var history = Self.faithful
        history.remove(at: 3)
        #expect(audit(history) == ["c: message 3 is missing from the history"])
        history = Self.faithful + [Entry(number: 4, seq: 7)]
        #expect(audit(history) == ["c: message 4 is there twice, again at 7"])
        history = Self.faithful
        history.swapAt(0, 1)
        #expect(audit(history).contains("c: message \(id(0)) at 2 stands behind position 3"))
        history = Self.faithful
        history[2].isIntact = false
        #expect(audit(history) == ["c: message 2 at 4 has another text"])
        history = Self.faithful.map { Entry(number: 4 - $0.number, seq: $0.seq) }
        #expect(audit(history) == ["c: messages stand at other positions than acknowledged"])
        #expect(audit(Self.faithful + [Entry(number: 9, seq: 7)]).count == 1)
    }

    @Test("changes with a hole, or fewer than were acknowledged, are told")
    func unfaithfulChanges() {
        #expect(audit(Self.faithful, changes: [1, 2, 4, 5, 6]) == ["c: behind change 2 comes 4"])
        #expect(audit(Self.faithful, changes: [1, 2, 3]) == ["c: the changes end at 3, acknowledged was 6"])
        #expect(audit(Self.faithful, lastSeq: 5) == ["c: the history ends at 5, acknowledged was 6"])
    }

    // MARK: Processes

    @Test("a process's times are found whatever its name holds, and its memory in bytes")
    func processFigures() throws {
        let stat = "42 (a (b) c) S 7 42 42 0 -1 4194560 900 0 0 0 150 50 30 20 20 0 1 0 100 1 1"
        let figures = try #require(
            ProcessFigures(stat: stat, status: "VmRSS:\t   2048 kB\nRssAnon:\t 1024 kB\n", ticksPerSecond: 100))
        #expect(figures.cpuSeconds == 2)
        #expect(figures.endedChildrenSeconds == 0.5)
        #expect(figures.residentBytes == 2_097_152)
        #expect(figures.anonymousBytes == 1_048_576)
        #expect(figures.parent == 7)
    }
}
