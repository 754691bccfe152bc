import Models

/// A walk back through a conversation, block by block, past blocks that are known to be empty. It is a state machine
/// without I/O: it returns what to read next, and takes what was found.
struct BlockWalk {
    enum Purpose {
        /// The number of messages that the reader has not read, up to `UnreadStatement.limit`.
        case unread
        /// The last message that the reader sees.
        case latest
    }

    struct Step: Equatable {
        let block: Int64
        let seqs: ClosedRange<Int64>
        /// Whether the whole block is read and all its positions exist.
        let isWhole: Bool
        /// Whether the step covers everything in the block that this reader may ever look for.
        let isWholeForReader: Bool
    }

    let conversation: ConversationID
    private let reader: UserID
    private let purpose: Purpose
    private let windows: [ConversationFields.Window]
    /// The walk stops here: nothing at or before this position is looked for.
    private let floor: Int64
    /// The last position that exists. Later ones may still come.
    private let lastSeq: Int64
    /// The next position to look at, downwards.
    private var next: Int64
    private(set) var count: Int
    private(set) var latest: Int64?
    private var isEnough = false

    /// - Parameter rest: the lowest position that has already been looked at.
    init(_ purpose: Purpose, of conversation: ConversationFields, for reader: UserID, before rest: Int64) {
        self.conversation = conversation.id
        self.reader = reader
        self.purpose = purpose
        windows = conversation.windows
        floor = purpose == .unread ? max(conversation.readSeq, conversation.clearedSeq) : conversation.clearedSeq
        lastSeq = conversation.lastSeq
        next = rest - 1
        count = conversation.unreadCount
    }

    private var key: EmptyBlocks.Key {
        purpose == .unread ? .unread(reader, conversation) : .visible(reader, conversation)
    }

    /// Returns what to read next; nil at the end, or when enough was found. Repeated calls return further steps, so
    /// several can be read at once.
    mutating func step(past known: inout EmptyBlocks) -> Step? {
        while !isEnough, next > floor, let end = endInWindows(next), end > floor {
            let block = Block.number(of: end)
            if let run = known.run(containing: block, of: key) ?? runForAnybody(block, &known) {
                next = Block.seqs(run.lowerBound).lowerBound - 1
                continue
            }
            return step(block, end)
        }
        next = floor
        return nil
    }

    private func runForAnybody(_ block: Int64, _ known: inout EmptyBlocks) -> ClosedRange<Int64>? {
        purpose == .unread ? known.run(containing: block, of: .forAnybody(conversation)) : nil
    }

    private mutating func step(_ block: Int64, _ end: Int64) -> Step {
        let whole = Block.seqs(block)
        let seqs = max(whole.lowerBound, floor + 1)...min(next, whole.upperBound)
        next = whole.lowerBound - 1
        let isComplete = seqs.upperBound == whole.upperBound && whole.upperBound <= lastSeq
        return Step(
            block: block, seqs: seqs, isWhole: isComplete && seqs == whole, isWholeForReader: isComplete)
    }

    /// The last position up to `seq` that lies in a stay.
    private func endInWindows(_ seq: Int64) -> Int64? {
        windows.last { $0.from <= seq }.map { min(seq, $0.through ?? .max) }
    }

    // MARK: Results

    mutating func found(_ count: Int, isEmpty: Bool, in step: Step, _ known: inout EmptyBlocks) {
        self.count = min(UnreadStatement.limit, self.count + count)
        isEnough = self.count == UnreadStatement.limit
        if isEmpty, step.isWhole {
            known.insert(step.block, of: .forAnybody(conversation))
        } else if count == 0, step.isWholeForReader {
            known.insert(step.block, of: key)
        }
    }

    mutating func found(_ seq: Int64?, in step: Step, _ known: inout EmptyBlocks) {
        guard let seq else {
            if step.isWholeForReader { known.insert(step.block, of: key) }
            return
        }
        latest = max(latest ?? seq, seq)
        isEnough = true
    }
}
