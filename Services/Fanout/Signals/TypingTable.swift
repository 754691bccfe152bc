import Models
import Reactor

/// Who is typing in which conversation, according to sessions of this process or to other processes.
struct TypingTable {
    /// The least time between two announcements of the same member.
    static let interval = Duration.seconds(3)
    /// The time after which a member's typing expires without a further frame.
    static let lifetime = Duration.seconds(6)
    /// The most members typing at once. Others are not announced.
    static let capacity = 16_384

    struct Key: Hashable {
        var conversation: ConversationID
        var user: UserID
    }

    private let lifetime: Duration
    private let interval: Duration

    private struct Typing {
        /// False after a stop. The entry is kept until the member may be announced again.
        var isActive = true
        var announcedAt: MonotonicTime
        var refreshedAt: MonotonicTime
    }

    private var typing: [Key: Typing] = [:]

    init(lifetime: Duration = TypingTable.lifetime, interval: Duration = TypingTable.interval) {
        self.lifetime = lifetime
        self.interval = interval
    }

    var isEmpty: Bool { typing.isEmpty }

    /// Records that a member types. Returns whether to announce it: at most once in the interval, whether or not they
    /// stopped in between.
    mutating func started(_ key: Key, at now: MonotonicTime) -> Bool {
        guard var known = typing[key] else {
            guard typing.count < Self.capacity else { return false }
            typing[key] = Typing(announcedAt: now, refreshedAt: now)
            return true
        }
        let isDue = now - known.announcedAt >= interval
        if isDue { (known.isActive, known.announcedAt) = (true, now) }
        known.refreshedAt = now
        typing[key] = known
        return isDue
    }

    /// Records that a member stopped typing. Returns whether to announce it.
    mutating func stopped(_ key: Key) -> Bool {
        guard typing[key]?.isActive == true else { return false }
        typing[key]!.isActive = false
        return true
    }

    /// Removes members who stopped and may be announced again, and removes and returns those whose typing has expired.
    mutating func takeExpired(at now: MonotonicTime) -> [Key] {
        let over = typing.filter {
            $0.value.isActive ? now - $0.value.refreshedAt >= lifetime : now - $0.value.announcedAt >= interval
        }
        for key in over.keys { typing[key] = nil }
        return over.filter(\.value.isActive).map(\.key)
    }
}
