/// Which rows of the source are looked at next: those with new numbers, then the latest ones, then, in slices, all
/// others. A change of an old row says nothing of where it is.
struct RowSearch {
    enum Slice: Equatable {
        /// Rows with numbers above this one.
        case new(after: Int64)
        /// Those that came last, and those with the latest dates.
        case recent
        case old(after: Int64)
    }

    /// The last row of those that were found by their number.
    private(set) var lastRow: Int64
    private var mayHaveNew = true
    private var mayHaveRecent = true
    /// Where the round through all rows is, where it began, and whether it passed the end; nil when it is complete.
    private var round: (at: Int64, from: Int64, isBeyondEnd: Bool)? = (0, 0, false)
    private var lastPlace: Int64 = 0

    init(lastRow: Int64) { self.lastRow = lastRow }

    /// Somebody has written: everything is looked at once from here on, however often that happens.
    mutating func begin() {
        (mayHaveNew, mayHaveRecent) = (true, true)
        round = (lastPlace, lastPlace, false)
    }

    /// Another file: its numbers are others.
    mutating func begin(highestRow: Int64) {
        begin()
        lastRow = min(lastRow, highestRow)
    }

    var next: Slice? {
        if mayHaveNew { return .new(after: lastRow) }
        if mayHaveRecent { return .recent }
        return round.map { .old(after: $0.at) }
    }

    /// - Parameters:
    ///   - last: the number of the slice's last row that was looked at; nil without rows.
    ///   - isComplete: whether all rows of the slice were looked at.
    ///   - isEnd: whether no rows follow.
    mutating func took(_ slice: Slice, through last: Int64?, isComplete: Bool, isEnd: Bool) {
        switch slice {
        case .new:
            lastRow = max(lastRow, last ?? lastRow)
            if isComplete, isEnd { mayHaveNew = false }
        case .recent:
            if isComplete { mayHaveRecent = false }
        case .old: tookOld(through: last, isEnd: isComplete && isEnd)
        }
    }

    private mutating func tookOld(through last: Int64?, isEnd: Bool) {
        guard let round else { return }
        lastPlace = isEnd ? 0 : last ?? round.at
        let isOver = round.from == 0 ? isEnd : round.isBeyondEnd && (isEnd || lastPlace >= round.from)
        self.round = isOver ? nil : (lastPlace, round.from, round.isBeyondEnd || isEnd)
    }
}
