import Models

/// A block is 1,024 positions of a conversation.
enum Block {
    static let size: Int64 = 1_024

    static func number(of seq: Int64) -> Int64 { seq / size }
    static func seqs(_ number: Int64) -> ClosedRange<Int64> { (number * size)...(number * size + size - 1) }
}

/// Block numbers, as ranges of which no two touch.
struct BlockRuns {
    private(set) var runs: [ClosedRange<Int64>] = []

    func run(containing block: Int64) -> ClosedRange<Int64>? {
        let index = index(of: block)
        return index < runs.count && runs[index].contains(block) ? runs[index] : nil
    }

    mutating func insert(_ block: Int64) {
        var index = index(of: block - 1)
        var merged = block...block
        // The runs that contain the block, or touch it on either side.
        while index < runs.count, runs[index].lowerBound <= block + 1 {
            merged = min(merged.lowerBound, runs[index].lowerBound)...max(merged.upperBound, runs[index].upperBound)
            runs.remove(at: index)
        }
        index = min(index, runs.count)
        runs.insert(merged, at: index)
    }

    /// The first run that does not end before `block`.
    private func index(of block: Int64) -> Int {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].upperBound < block { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Blocks that are known to hold nothing that a reader looks for, so that they are walked through only once.
///
/// What does not count for a reader never will. One's own messages and system messages stay what they are, deletions
/// for everyone and for oneself are permanent, and no later stay begins before its own first position. So this
/// knowledge never goes out of date, whatever is written meanwhile, and what is forgotten is found again. Only a
/// restored database is another history.
///
/// Recently used knowledge is kept. When there are too many runs of blocks, those not used since the last cleanup are
/// forgotten.
struct EmptyBlocks {
    enum Key: Hashable {
        /// Blocks in which nothing counts, for any reader.
        case forAnybody(ConversationID)
        case unread(UserID, ConversationID)
        case visible(UserID, ConversationID)
    }

    /// The limit of runs and keys before a cleanup. At most twice as many are kept.
    static let limit = 65_536

    private var young: [Key: BlockRuns] = [:]
    private var old: [Key: BlockRuns] = [:]
    private var youngSize = 0

    mutating func run(containing block: Int64, of key: Key) -> ClosedRange<Int64>? {
        touch(key)
        return young[key]?.run(containing: block)
    }

    mutating func insert(_ block: Int64, of key: Key) {
        touch(key)
        let before = young[key]?.runs.count ?? -1
        young[key, default: BlockRuns()].insert(block)
        youngSize += young[key]!.runs.count - before
        guard youngSize > Self.limit else { return }
        old = young
        young = [:]
        youngSize = 0
    }

    private mutating func touch(_ key: Key) {
        guard let runs = old.removeValue(forKey: key) else { return }
        young[key] = runs
        youngSize += runs.runs.count + 1
    }

    var size: Int { youngSize + old.values.reduce(0) { $0 + $1.runs.count + 1 } }
}
