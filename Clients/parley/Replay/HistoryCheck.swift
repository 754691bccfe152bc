import CommandSupport
import Models
import ParleyClient

/// Compares the history of a conversation with what was sent, message by message.
///
/// The order may differ from the file's, since several messages are in flight at once. Every message must be there
/// once, with its text, sender and parent, at its acknowledged position. Parents must come before their replies, and
/// positions must have no gaps.
struct HistoryCheck {
    private let plan: ReplayPlan.Conversation
    private let users: [UserID]
    private let acknowledgedSeqs: [Int64]
    private let indices: [MessageID: Int]
    private(set) var mismatches = MismatchList()

    init(_ plan: ReplayPlan.Conversation, users: [UserID], acknowledgedSeqs: [Int64]) {
        self.plan = plan
        self.users = users
        self.acknowledgedSeqs = acknowledgedSeqs
        indices = Dictionary(uniqueKeysWithValues: plan.messages.enumerated().map { ($1.id, $0) })
    }

    /// - Parameters:
    ///   - history: all pages, in the order they were returned.
    ///   - lastSeq: from the last page.
    ///   - fileOrder: whether the history must have the order of the file.
    mutating func check(_ history: [MessageView], lastSeq: Int64, fileOrder: Bool) {
        checkPositions(history, lastSeq)
        var positions: [Int: Int64] = [:]
        var previous = -1
        for message in history where message.kind != "system" {
            guard let id = message.id, let index = indices[id] else {
                report(message, "is not one that was sent")
                continue
            }
            if positions.updateValue(message.seq, forKey: index) != nil { report(message, "is there twice") }
            checkContent(message, plan.messages[index])
            checkPosition(message, index)
            checkParent(message, plan.messages[index].parent, positions)
            if fileOrder, index < previous { report(message, "is out of the order of the file") }
            previous = index
        }
        for (index, message) in plan.messages.enumerated() where positions[index] == nil {
            mismatches.add("\(plan.title): message \(message.id) is missing")
        }
    }

    /// Checks for ascending positions without gaps up to `lastSeq`. The first may be the creation, which is no message.
    private mutating func checkPositions(_ history: [MessageView], _ lastSeq: Int64) {
        var expected = history.first.map { min($0.seq, 2) } ?? lastSeq + 1
        for message in history {
            if message.seq != expected { report(message, "stands where position \(expected) is due") }
            expected = message.seq + 1
        }
        if expected != lastSeq + 1 {
            mismatches.add("\(plan.title): the history ends at \(expected - 1), not at \(lastSeq)")
        }
    }

    private mutating func checkContent(_ message: MessageView, _ sent: ReplayPlan.Message) {
        if message.text != sent.text { report(message, "has another text") }
        if message.sender != users[sent.sender] { report(message, "has another sender") }
        let parent = sent.parent.map { plan.messages[$0].id }
        if message.replyTo != parent { report(message, "has another parent") }
        if message.kind != (parent == nil ? "text" : "reply") { report(message, "is of kind \(message.kind)") }
    }

    private mutating func checkPosition(_ message: MessageView, _ index: Int) {
        let acknowledged = acknowledgedSeqs[index]
        if acknowledged != message.seq { report(message, "was acknowledged at \(acknowledged)") }
    }

    private mutating func checkParent(_ message: MessageView, _ parent: Int?, _ positions: [Int: Int64]) {
        if let parent, positions[parent] == nil { report(message, "comes before its parent") }
    }

    private mutating func report(_ message: MessageView, _ what: String) {
        mismatches.add("\(plan.title): message \(message.id?.description ?? "without id") at \(message.seq) \(what)")
    }
}
