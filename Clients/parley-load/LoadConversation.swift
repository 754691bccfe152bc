import Models
import Reactor

/// A conversation of a run, and what its senders were told.
@Reactor
final class LoadConversation {
    let id: ConversationID
    /// In the run, as in the ids of its messages.
    let number: Int
    /// By their numbers in the run.
    let members: [Int]
    /// Where many members get the same frames.
    let recentFrames: RecentFrames?

    /// How many messages were sent, acknowledged or not: their numbers are those below.
    private(set) var sent = 0
    private(set) var acknowledged = Tally()
    /// The highest position that was told by the creation or an acknowledgement.
    private(set) var lastSeq: Int64

    init(_ id: ConversationID, number: Int, members: [Int], lastSeq: Int64) {
        self.id = id
        self.number = number
        self.members = members
        self.lastSeq = lastSeq
        recentFrames = members.count > 2 ? RecentFrames(members: members.count) : nil
    }

    /// At all sessions together.
    private var arrivals = 0

    /// Another message is to be sent.
    func takeNumber() -> Int {
        sent += 1
        return sent - 1
    }

    func acknowledge(_ number: Int, seq: Int64, at now: MonotonicTime) {
        acknowledged.add(number: number, seq: seq)
        advance(to: seq)
        recentFrames?.acknowledge(seq, at: now)
    }

    /// A message has arrived at a session.
    func noteArrival() { arrivals += 1 }

    /// How many arrivals of acknowledged messages are still to come, all members being online; less when some came first.
    var undelivered: Int { acknowledged.count * members.count - arrivals }

    /// Something other than a message was acknowledged.
    func advance(to seq: Int64) { lastSeq = max(lastSeq, seq) }
}
