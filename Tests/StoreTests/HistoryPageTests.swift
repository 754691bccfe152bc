import Models
import Testing
import Wire

@testable import Store

private let head = ConversationQuery(ConversationID(UUIDBytes(high: 1, low: 1)), reader: UserID("alice")!)

/// Returns what the database would find: up to one more than the bounds request on either side.
private func found(_ seqs: ClosedRange<Int64>, _ bounds: HistoryBounds) -> [Int64] {
    seqs.filter { $0 < bounds.pivot }.suffix(bounds.older + 1)
        + seqs.filter { $0 >= bounds.pivot }.prefix(bounds.newer + 1)
}

private func page(
    of seqs: ClosedRange<Int64>, _ anchor: HistoryQuery.Anchor, limit: UInt16, bytes: Int = 10
) -> (seqs: [Int64], before: Bool, after: Bool) {
    let bounds = HistoryBounds(HistoryQuery(head, anchor: anchor, limit: limit))
    let found = found(seqs, bounds)
    let page = HistoryPage(bounds, seqs: found) { index, buffer in
        buffer.append(Array(String(found[index]).utf8) + Array(repeating: 0x20, count: bytes))
    }
    let read = (0..<page.count).map { Int64(String(decoding: page[$0].prefix { $0 != 0x20 }, as: UTF8.self))! }
    return (read, page.hasMoreBefore, page.hasMoreAfter)
}

@Suite struct HistoryPageTests {
    @Test("the latest page ends at the last message")
    func latest() {
        #expect(page(of: 1...10, .latest, limit: 3) == ([8, 9, 10], true, false))
        #expect(page(of: 1...2, .latest, limit: 3) == ([1, 2], false, false))
    }

    @Test("before and after leave the anchor out")
    func directions() {
        #expect(page(of: 1...10, .before(5), limit: 3) == ([2, 3, 4], true, true))
        #expect(page(of: 1...10, .before(4), limit: 3) == ([1, 2, 3], false, true))
        #expect(page(of: 1...10, .after(5), limit: 3) == ([6, 7, 8], true, true))
        #expect(page(of: 1...10, .after(8), limit: 3) == ([9, 10], true, false))
    }

    @Test("around has the anchor with the later half")
    func around() {
        #expect(page(of: 1...10, .around(5), limit: 4) == ([3, 4, 5, 6], true, true))
        #expect(page(of: 1...10, .around(1), limit: 4) == ([1, 2], false, true))
        #expect(page(of: 1...10, .around(5), limit: 1) == ([5], true, true))
    }

    @Test("an anchor beyond everything is no error")
    func beyond() {
        #expect(page(of: 1...3, .after(.max), limit: 3) == ([], true, false))
        #expect(page(of: 1...3, .before(.max), limit: 3) == ([1, 2, 3], false, false))
    }

    @Test("a page ends at 512 KiB, and says that there is more")
    func bytes() {
        #expect(page(of: 1...10, .latest, limit: 10, bytes: 200_000) == ([9, 10], true, false))
        #expect(page(of: 1...10, .after(0), limit: 10, bytes: 200_000) == ([1, 2], false, true))
        #expect(page(of: 1...10, .latest, limit: 10, bytes: 600_000) == ([10], true, false))
    }
}
