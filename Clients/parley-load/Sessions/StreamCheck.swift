import Models

/// Checks what a session has seen of one conversation: every change must come once and in order.
struct StreamCheck {
    enum Verdict: Equatable {
        case fine
        case broken(String)
    }

    private let run: Int
    private let conversation: Int
    /// The next expected position.
    private(set) var next: Int64
    private(set) var tally: Tally

    /// - Parameters:
    ///   - seq: the position of the session.
    ///   - tally: the acknowledged messages up to it.
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

    /// Skips a gap that is paged instead. The session continues after it.
    ///
    /// - Returns: the positions to page through.
    mutating func skip(to lastSeq: Int64) -> Range<Int64> {
        let gap = next..<max(next, lastSeq + 1)
        next = gap.upperBound
        return gap
    }

    /// Takes a change from a page.
    mutating func takePaged(_ change: ArrivedChange) {
        if let message = change.message { tally.add(number: MessageNumber(message).number, seq: change.seq) }
    }
}
