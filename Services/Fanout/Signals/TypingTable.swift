import Models
import Reactor

/// Who is typing where, by what sessions of this process say, or other processes.
struct TypingTable {
    /// A member who goes on typing is passed on at most this often.
    static let interval = Duration.seconds(3)
    /// Not heard of for this long, a member has stopped.
    static let lifetime = Duration.seconds(6)
    /// Members typing at once. More are not passed on.
    static let capacity = 16_384

    struct Key: Hashable {
        var conversation: ConversationID
        var user: UserID
    }

    private let lifetime: Duration
    private let interval: Duration

    private struct Typing {
        /// Not, when they have said that they stopped. They are known until they may be passed on again.
        var isActive = true
        var passedOn: MonotonicTime
        var heard: MonotonicTime
    }

    private var typing: [Key: Typing] = [:]

    init(lifetime: Duration = TypingTable.lifetime, interval: Duration = TypingTable.interval) {
        self.lifetime = lifetime
        self.interval = interval
    }

    var isEmpty: Bool { typing.isEmpty }

    /// A member types. Returns whether the others are to be told: at most once in the interval, whether or not they stopped
    /// in between.
    mutating func started(_ key: Key, at now: MonotonicTime) -> Bool {
        guard var known = typing[key] else {
            guard typing.count < Self.capacity else { return false }
            typing[key] = Typing(passedOn: now, heard: now)
            return true
        }
        let isDue = now - known.passedOn >= interval
        if isDue { (known.isActive, known.passedOn) = (true, now) }
        known.heard = now
        typing[key] = known
        return isDue
    }

    /// A member stopped typing. Returns whether the others are to be told.
    mutating func stopped(_ key: Key) -> Bool {
        guard typing[key]?.isActive == true else { return false }
        typing[key]!.isActive = false
        return true
    }

    /// Forgets those who stopped and may be passed on again, and takes out those who have not been heard of for too long.
    mutating func takeExpired(at now: MonotonicTime) -> [Key] {
        let over = typing.filter {
            $0.value.isActive ? now - $0.value.heard >= lifetime : now - $0.value.passedOn >= interval
        }
        for key in over.keys { typing[key] = nil }
        return over.filter(\.value.isActive).map(\.key)
    }
}
