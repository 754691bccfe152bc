import Models
import Reactor

/// A member as the database shows it to the others.
struct Member: Equatable {
    let id: Int32
    /// The server's process that serves the session by which the member holds its locks.
    let session: Int32
    /// Its last heartbeat, by the database's clock.
    let seenAt: Timestamp
    /// Whether that was within three seconds, by the same clock.
    let isRecent: Bool
}

/// Finds the members that hold their sessions and do nothing any more: stopped, hung, or on a machine that the network
/// lost. Their slots would stay with them until they go on.
///
/// Who judges looks at the members twice a second, in the transaction that renews its own heartbeat. A member is silent
/// when look after look showed the same heartbeat of the same session for as long as the bound. Heartbeats are compared with
/// themselves alone, so it does not matter how the clocks of database and processes are set. A judge whose own looks were
/// not regular begins anew: it, the database or the way between them stood still, and the others may have had no chance to
/// be heard. So a database that was slow costs nobody their session, and two members cannot both find the other silent:
/// whoever looks is heard.
struct SilentMembers {
    private let bound: Duration
    /// More time between two looks counts as having been away.
    private var longestPause: Duration { bound / 2 }
    private var lastLook: MonotonicTime?
    private var signs: [Int32: Sign] = [:]

    /// The last sign of life of a member, and when it was first looked at.
    private struct Sign {
        let session: Int32
        let seenAt: Timestamp
        let since: MonotonicTime

        func isSame(as member: Member) -> Bool { session == member.session && seenAt == member.seenAt }
    }

    init(bound: Duration) { self.bound = bound }

    /// Takes what a look showed of the others. Returns those that are silent; each of them has the whole bound again before it
    /// is named once more.
    mutating func look(at others: [Member], now: MonotonicTime) -> [Member] {
        if let lastLook, now - lastLook > longestPause { signs = [:] }
        lastLook = now
        let known = signs
        signs = [:]
        return others.filter { member in
            let sign = known[member.id].flatMap { $0.isSame(as: member) ? $0 : nil }
            let isSilent = sign.map { now - $0.since >= bound } ?? false
            let since = isSilent ? now : sign?.since ?? now
            signs[member.id] = Sign(session: member.session, seenAt: member.seenAt, since: since)
            return isSilent
        }
    }
}
