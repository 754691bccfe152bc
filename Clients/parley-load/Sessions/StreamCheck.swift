import Models

/// What a session has seen of one conversation, and whether that is what it was promised: every change once and in order.
struct StreamCheck {
    enum Verdict: Equatable {
        case fine
        case broken(String)
    }

    private let run: Int
    private let conversation: Int
    /// The position that is due next.
    private(set) var next: Int64
    private(set) var tally: Tally

    /// - Parameters:
    ///   - seq: where the session stands.
    ///   - tally: of what came before that, by the acknowledgements.
    init(run: Int, conversation: Int, after seq: Int64, tally: Tally) {
        self.run = run
        self.conversation = conversation
        next = seq + 1
        self.tally = tally
    }

    mutating func take(_ change: ArrivedChange) -> Verdict {
        if change.seq < next { return .broken("change \(change.seq) came twice or out of order") }
        let missing = next..<change.seq
        next = change.seq + 1
        if let message = change.message {
            let number = MessageNumber(message)
            guard number.run == run, number.conversation == conversation else {
                return .broken("message \(message) at \(change.seq) is none of this conversation's")
            }
            tally.add(number: number.number, seq: change.seq)
        }
        return missing.isEmpty
            ? .fine : .broken("changes \(missing.lowerBound) to \(missing.upperBound - 1) did not come")
    }

    /// A gap that is paged through instead: the session goes on behind it.
    ///
    /// - Returns: the positions to page through.
    mutating func skip(to lastSeq: Int64) -> Range<Int64> {
        let gap = next..<max(next, lastSeq + 1)
        next = gap.upperBound
        return gap
    }

    /// A change that came by a page.
    mutating func takePaged(_ change: ArrivedChange) {
        if let message = change.message { tally.add(number: MessageNumber(message).number, seq: change.seq) }
    }
}
