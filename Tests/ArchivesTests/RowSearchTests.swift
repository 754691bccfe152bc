import Testing

@testable import Archives

@Suite struct RowSearchTests {
    /// Takes the next slice of a table with so many rows, and returns the old rows that were looked at.
    private func step(_ search: inout RowSearch, rows: Int64, slice: Int64 = 10) -> ClosedRange<Int64>? {
        guard let next = search.next else { return nil }
        switch next {
        case .new(let after), .old(let after):
            let last = min(rows, after + slice)
            let isEnd = last - after < slice
            search.took(next, through: last > after ? last : nil, isComplete: true, isEnd: isEnd)
            guard case .old = next, last > after else { return nil }
            return after + 1...last
        case .recent:
            search.took(next, through: rows, isComplete: true, isEnd: true)
            return nil
        }
    }

    private func steps(_ search: inout RowSearch, rows: Int64) -> Set<Int64> {
        var seen: Set<Int64> = []
        var count: Int64 = 0
        while search.next != nil {
            if let range = step(&search, rows: rows) { seen.formUnion(range) }
            count += 1
            #expect(count < 4 * rows + 100, "it does not end")
            if count >= 4 * rows + 100 { break }
        }
        return seen
    }

    @Test("a round looks at every row once more, and then nothing is looked at", arguments: [0, 1, 9, 10, 11, 95, 100])
    func round(rows: Int64) {
        var search = RowSearch(lastRow: 0)
        let all = Set(rows == 0 ? [] : Array(1...rows))
        #expect(steps(&search, rows: rows) == all)
        #expect(search.next == nil && search.lastRow == rows)
        search.begin()
        #expect(steps(&search, rows: rows) == all)
    }

    @Test("a change in the middle of a round begins another one from there", arguments: 0..<14)
    func changed(after count: Int) {
        var search = RowSearch(lastRow: 95)
        for _ in 0..<count { _ = step(&search, rows: 95) }
        search.begin()
        #expect(steps(&search, rows: 95) == Set(1...95))
        #expect(search.next == nil)
    }

    @Test("while somebody writes all the time the round goes on")
    func busy() {
        var search = RowSearch(lastRow: 95)
        var seen: Set<Int64> = []
        for _ in 0..<200 {
            search.begin()
            for _ in 0..<3 { if let range = step(&search, rows: 95) { seen.formUnion(range) } }
        }
        #expect(seen == Set(1...95))
    }

    @Test("what was not looked at for lack of room is looked at next")
    func incomplete() {
        var search = RowSearch(lastRow: 0)
        #expect(search.next == .new(after: 0))
        search.took(.new(after: 0), through: 4, isComplete: false, isEnd: true)
        #expect(search.next == .new(after: 4))
        search.took(.new(after: 4), through: 10, isComplete: true, isEnd: true)
        #expect(search.next == .recent)
        search.took(.recent, through: 3, isComplete: false, isEnd: true)
        #expect(search.next == .recent)
    }

    @Test("of a file with lower numbers the new ones begin at its end")
    func replaced() {
        var search = RowSearch(lastRow: 95)
        _ = steps(&search, rows: 95)
        search.begin(highestRow: 40)
        #expect(search.next == .new(after: 40))
    }
}
