import Models
import Reactor

/// A member as the other members see it in the database.
struct Member: Equatable {
    let id: Int32
    /// The process id of the backend that serves the session holding the member's locks.
    let session: Int32
    /// The last heartbeat, by the database's clock.
    let seenAt: Timestamp
    /// Whether the last heartbeat was within three seconds, by the same clock.
    let isRecent: Bool
}

/// Finds members that keep their sessions but are stopped, hung, or cut off from the network. Without this their slots
/// would stay with them.
///
/// An observer reads the list of members twice a second, in the transaction that renews its own heartbeat. A member is
/// silent when every reading within `bound` showed the same heartbeat of the same session. Heartbeats are compared only
/// with each other, so differences between clocks do not matter. An observer whose own readings were irregular starts
/// again: it, the database or the network stood still, and the others may have had no chance to renew theirs. A slow
/// database therefore ends no session, and two members cannot find each other silent: a member that reads has renewed
/// its heartbeat.
struct SilentMembers {
    private let bound: Duration
    /// A longer time between two readings counts as an absence of the observer.
    private var longestPause: Duration { bound / 2 }
    private var lastReading: MonotonicTime?
    private var heartbeats: [Int32: Heartbeat] = [:]

    /// The last heartbeat of a member, and when it was first read.
    private struct Heartbeat {
        let session: Int32
        let seenAt: Timestamp
        let since: MonotonicTime

        func isSame(as member: Member) -> Bool { session == member.session && seenAt == member.seenAt }
    }

    init(bound: Duration) { self.bound = bound }

    /// Takes a reading of the other members. Returns the silent ones; each of them has the whole bound again before it
    /// is returned once more.
    mutating func observe(_ others: [Member], now: MonotonicTime) -> [Member] {
        if let lastReading, now - lastReading > longestPause { heartbeats = [:] }
        lastReading = now
        let known = heartbeats
        heartbeats = [:]
        return others.filter { member in
            let heartbeat = known[member.id].flatMap { $0.isSame(as: member) ? $0 : nil }
            let isSilent = heartbeat.map { now - $0.since >= bound } ?? false
            let since = isSilent ? now : heartbeat?.since ?? now
            heartbeats[member.id] = Heartbeat(session: member.session, seenAt: member.seenAt, since: since)
            return isSilent
        }
    }
}
