import Models

/// A way back through a conversation, block by block, past those that are known to have nothing. A state machine without
/// I/O: it says what is to be read, and is told what was found.
struct BlockWalk {
    enum Purpose {
        /// How many messages the reader has not read, up to `UnreadStatement.limit`.
        case unread
        /// The last message that the reader sees.
        case latest
    }

    struct Step: Equatable {
        let block: Int64
        let seqs: ClosedRange<Int64>
        /// Whether the whole block is read, and is complete.
        let isWhole: Bool
        /// Whether all of it is read that the reader may ever look for.
        let isWholeForReader: Bool
    }

    let conversation: ConversationID
    private let reader: UserID
    private let purpose: Purpose
    private let windows: [ConversationFields.Window]
    /// Nothing at or before it is looked for.
    private let floor: Int64
    /// The end of what is there: later positions may still come.
    private let lastSeq: Int64
    /// The next position to be looked at, downwards.
    private var next: Int64
    private(set) var count: Int
    private(set) var latest: Int64?
    private var isEnough = false

    /// - Parameter rest: the lowest position that was looked at already.
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

    /// What is to be read next; nil at the end, or when enough was found. Asked again, it goes on: several steps may be
    /// read at once.
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

    // MARK: What was found

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
