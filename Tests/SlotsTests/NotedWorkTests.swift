import Models
import Reactor
import Testing

@testable import Slots

@Suite struct NotedWorkTests {
    private let first = ConversationID(UUIDBytes(high: 1, low: 1))
    private let second = ConversationID(UUIDBytes(high: 2, low: 1))
    private let other = ConversationID(UUIDBytes(high: 1, low: 2))
    private let start = MonotonicTime(nanoseconds: 0)
    private var later: MonotonicTime { start + NotedWork.quiet }
    private var work = NotedWork(firstNumber: 0)

    /// Runs a batch that commits at once.
    private mutating func batch(_ conversations: ConversationID..., at time: MonotonicTime) -> [Note] {
        let notes = work.begin(conversations, at: time)
        work.end(conversations, written: notes, at: time)
        return notes
    }

    @Test("a conversation that moves repeatedly is noted once, and its note is removed when it was idle")
    mutating func once() {
        let notes = batch(first, second, at: start)
        #expect(notes.map(\.conversation) == [first, second])
        #expect(batch(first, at: start + (NotedWork.quiet - .seconds(1))).isEmpty)
        #expect(work.takeDone(at: later) { _ in true }.map(\.conversation) == [second])
        #expect(work.takeDone(at: later + NotedWork.quiet) { _ in true } == [notes[0]])
        #expect(work.count == 0)
        #expect(batch(first, at: later) != [notes[0]])
    }

    @Test("a note stays while a batch relies on it, while work is left, and while it is held")
    mutating func stays() {
        _ = batch(first, at: start)
        #expect(work.begin([first], at: start).isEmpty)
        #expect(work.takeDone(at: later) { _ in true }.isEmpty)
        work.end([first], written: [], at: start)
        #expect(work.takeDone(at: later + NotedWork.quiet) { _ in false }.isEmpty)
        work.hold(first)
        #expect(work.takeDone(at: later + NotedWork.quiet * 2) { _ in true }.isEmpty)
        work.release(in: [first.slot])
        #expect(work.takeDone(at: later + NotedWork.quiet * 3) { _ in true }.count == 1)
    }

    @Test("a note that failed is written by every batch until one is committed")
    mutating func failed() {
        let lost = work.begin([first], at: start)
        let repeated = work.begin([first], at: start)
        #expect(lost == repeated)
        work.end([first], written: [], at: start)
        work.end([first], written: repeated, at: start)
        #expect(work.begin([first], at: start).isEmpty)
    }

    @Test("a conversation that does not exist is neither remembered as noted nor removed")
    mutating func unknown() {
        _ = work.begin([first], at: start)
        work.end([first], written: [], at: start)
        #expect(work.begin([first], at: start).count == 1)
        work.end([first], written: [], at: start)
        #expect(work.takeDone(at: later) { _ in true }.isEmpty)
        #expect(work.count == 0)
    }

    @Test("after the loss of a slot its conversations are noted again: the earlier notes belong to the next owner")
    mutating func lost() {
        let before = batch(first, other, at: start)
        _ = work.begin([first], at: start)
        work.forget(first.slot)
        let anew = work.begin([first, other], at: start)
        #expect(anew.map(\.conversation) == [first] && anew != [before[0]])
        // The earlier batch wrote nothing that could be taken for the new note.
        work.end([first], written: [before[0]], at: start)
        #expect(work.begin([first], at: start) == anew)
        work.end([first], written: anew, at: start)
        work.end([first, other], written: [], at: start)
        #expect(Set(work.takeDone(at: later) { _ in true }) == [anew[0], before[1]])
    }

    @Test("notes found at a takeover are removed with the own one, and keep no batch from noting")
    mutating func adopted() {
        let found = [Note(conversation: first, number: -5), Note(conversation: first, number: -6)]
        work.adopt(found, at: start)
        work.adopt(found, at: start)
        let own = batch(first, at: start)
        #expect(own.count == 1)
        #expect(Set(work.takeDone(at: later) { _ in true }) == Set(found + own))
    }

    @Test("memory is bounded: further notes are written, and left in the table")
    mutating func bound() {
        let many = (0..<UInt64(NotedWork.capacity) + 10).map { ConversationID(UUIDBytes(high: 9, low: $0)) }
        let notes = work.begin(many, at: start)
        work.end(many, written: notes, at: start)
        #expect(notes.count == many.count && work.count == NotedWork.capacity)
        #expect(work.begin(many.suffix(10), at: start).count == 10)
        // Short of memory, notes are removed without waiting.
        #expect(work.takeDone(at: start) { _ in true }.count == NotedWork.urgentScanSize)
    }
}
