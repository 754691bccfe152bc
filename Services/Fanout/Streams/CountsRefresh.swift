import Models
import Reactor
import Wire

/// Decides when to query the delivered and read counts of the latest messages of a conversation again, and which
/// senders get an update.
///
/// The first movement is queried at once. Further ones are queried once, together, after a rest behind the response.
struct CountsRefresh {
    static let interval = Duration.seconds(1)
    private static let longestRest = Duration.seconds(30)
    private static let share = 20

    /// The store counts all members' receipts. So that a large room takes a twentieth of a connection of the database at
    /// most, it rests for longer the longer that takes.
    static func rest(after query: Duration) -> Duration { min(max(interval, query * share), longestRest) }

    private enum State { case idle, busy, movedMeanwhile }

    private var state = State.idle
    /// The counts last sent to each sender, as JSON.
    private var lastSent: [UserID: [UInt8]] = [:]

    /// Records a movement. Returns whether to query.
    mutating func moved() -> Bool {
        defer { state = state == .idle ? .busy : .movedMeanwhile }
        return state == .idle
    }

    /// Records that the query failed and has to be repeated.
    mutating func failed() { state = .movedMeanwhile }

    /// Ends the interval after a response or a failure. Returns whether to query again.
    mutating func rested() -> Bool {
        defer { state = state == .movedMeanwhile ? .busy : .idle }
        return state == .movedMeanwhile
    }

    /// Forgets what was sent to `sender`, because one of their sessions may have missed it.
    mutating func forget(_ sender: UserID) { lastSent[sender] = nil }

    /// Returns the counts that changed, by sender, as JSON.
    mutating func updates(in response: SenderCounts) throws(WireError) -> [UserID: [UInt8]] {
        var current: [UserID: [UInt8]] = [:]
        try response.forEachSender { sender, json in current[sender] = Array(json) }
        defer { lastSent = current }
        return current.filter { lastSent[$0.key] != $0.value }
    }
}
