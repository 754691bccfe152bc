import Models
import Reactor

/// A conversation of a run, and what its senders learned from responses.
@Reactor
final class LoadConversation {
    let id: ConversationID
    /// The number in the run, as used in the ids of its messages.
    let number: Int
    /// The members' numbers in the run.
    let members: [Int]
    /// Set where many members get the same frames.
    let recentFrames: RecentFrames?

    /// The number of messages sent, acknowledged or not. Their numbers are those below it.
    private(set) var sent = 0
    private(set) var acknowledged = Tally()
    /// The highest position given by the creation or an acknowledgement.
    private(set) var lastSeq: Int64

    init(_ id: ConversationID, number: Int, members: [Int], lastSeq: Int64) {
        self.id = id
        self.number = number
        self.members = members
        self.lastSeq = lastSeq
        recentFrames = members.count > 2 ? RecentFrames(members: members.count) : nil
    }

    /// The arrivals at all sessions together.
    private var arrivals = 0

    /// Takes the number of the next message to send.
    func takeNumber() -> Int {
        sent += 1
        return sent - 1
    }

    func acknowledge(_ number: Int, seq: Int64, at now: MonotonicTime) {
        acknowledged.add(number: number, seq: seq)
        advance(to: seq)
        recentFrames?.acknowledge(seq, at: now)
    }

    /// Counts a message's arrival at a session.
    func noteArrival() { arrivals += 1 }

    /// The arrivals of acknowledged messages still to come with all members online. Less if some came early.
    var undelivered: Int { acknowledged.count * members.count - arrivals }

    /// Notes the acknowledgement of something other than a message.
    func advance(to seq: Int64) { lastSeq = max(lastSeq, seq) }
}
