import CommandSupport
import Models

/// Compares a conversation's history with what was acknowledged. Every message must be there once, at its acknowledged
/// position, with the text that was sent. A change must take every position.
struct HistoryAudit {
    private let name: String
    private let run: Int
    private let conversation: Int
    private let acknowledged: Tally
    private let lastSeq: Int64
    /// One bit for each message sent, set when it is found.
    private var found: [UInt64]
    private let sent: Int
    private var tally = Tally()
    private var position: Int64 = 0
    private var changePosition: Int64 = 0
    private(set) var mismatches = MismatchList()

    /// - Parameter lastSeq: the highest acknowledged position.
    init(_ name: String, run: Int, conversation: Int, sent: Int, acknowledged: Tally, lastSeq: Int64) {
        self.name = name
        self.run = run
        self.conversation = conversation
        self.sent = sent
        self.acknowledged = acknowledged
        self.lastSeq = lastSeq
        found = Array(repeating: 0, count: (sent + 63) / 64)
    }

    /// Takes the next entry of the history.
    ///
    /// - Parameter isIntact: whether the text is one that was sent.
    mutating func take(message: MessageID, at seq: Int64, isIntact: Bool) {
        if seq <= position { add("message \(message) at \(seq) stands behind position \(position)") }
        position = max(position, seq)
        let number = MessageNumber(message)
        guard number.run == run, number.conversation == conversation, number.number < sent else {
            return add("message \(message) at \(seq) is none that was sent")
        }
        let bit: UInt64 = 1 << UInt64(number.number & 63)
        if found[number.number >> 6] & bit != 0 { add("message \(number.number) is there twice, again at \(seq)") }
        found[number.number >> 6] |= bit
        if !isIntact { add("message \(number.number) at \(seq) has another text") }
        tally.add(number: number.number, seq: seq)
    }

    /// Takes the next entry of the changes.
    mutating func take(changeAt seq: Int64) {
        if seq != changePosition + 1 { add("behind change \(changePosition) comes \(seq)") }
        changePosition = seq
    }

    /// Ends the audit after the last entry.
    ///
    /// - Parameter end: the `lastSeq` of the last page.
    mutating func finish(lastSeq end: Int64) {
        for number in 0..<sent where found[number >> 6] & 1 << UInt64(number & 63) == 0 {
            add("message \(number) is missing from the history")
        }
        if end < lastSeq { add("the history ends at \(end), acknowledged was \(lastSeq)") }
        if changePosition < lastSeq { add("the changes end at \(changePosition), acknowledged was \(lastSeq)") }
        if mismatches.count == 0, tally != acknowledged { add("messages stand at other positions than acknowledged") }
    }

    private mutating func add(_ text: String) { mismatches.add("\(name): \(text)") }
}
