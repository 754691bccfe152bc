import Models
import Reactor
import Wire

/// When to ask again how many have the latest messages of a conversation, and what of the answer is news to whom.
///
/// The first movement is asked about at once. What moves until `interval` after the answer is asked about once, then.
struct CountsRefresh {
    static let interval = Duration.seconds(1)

    private enum State { case idle, busy, movedMeanwhile }

    private var state = State.idle
    /// What each sender was told last.
    private var told: [UserID: [UInt8]] = [:]

    /// Something moved. Returns whether to ask.
    mutating func moved() -> Bool {
        defer { state = state == .idle ? .busy : .movedMeanwhile }
        return state == .idle
    }

    /// There was no answer: to be asked again.
    mutating func failed() { state = .movedMeanwhile }

    /// The interval after an answer, or after the lack of one, is over. Returns whether to ask again.
    mutating func rested() -> Bool {
        defer { state = state == .movedMeanwhile ? .busy : .idle }
        return state == .movedMeanwhile
    }

    /// A session of `sender` may have missed what others of theirs were told.
    mutating func forget(_ sender: UserID) { told[sender] = nil }

    /// The counts of those for whom they changed, as JSON.
    mutating func news(in answer: SenderCounts) throws(WireError) -> [UserID: [UInt8]] {
        var current: [UserID: [UInt8]] = [:]
        try answer.forEachSender { sender, json in current[sender] = Array(json) }
        defer { told = current }
        return current.filter { told[$0.key] != $0.value }
    }
}
