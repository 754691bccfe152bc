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

    private struct Typing {
        var passedOn: MonotonicTime
        var heard: MonotonicTime
    }

    private var typing: [Key: Typing] = [:]

    init(lifetime: Duration = TypingTable.lifetime) { self.lifetime = lifetime }

    var isEmpty: Bool { typing.isEmpty }

    /// A member types. Returns whether the others are to be told.
    mutating func started(_ key: Key, at now: MonotonicTime) -> Bool {
        guard let known = typing[key] else {
            guard typing.count < Self.capacity else { return false }
            typing[key] = Typing(passedOn: now, heard: now)
            return true
        }
        let isDue = now - known.passedOn >= Self.interval
        typing[key] = Typing(passedOn: isDue ? now : known.passedOn, heard: now)
        return isDue
    }

    /// A member stopped typing. Returns whether the others are to be told.
    mutating func stopped(_ key: Key) -> Bool { typing.removeValue(forKey: key) != nil }

    /// Takes out those who have not been heard of for too long.
    mutating func takeExpired(at now: MonotonicTime) -> [Key] {
        let expired = typing.filter { now - $0.value.heard >= lifetime }.map(\.key)
        for key in expired { typing[key] = nil }
        return expired
    }
}
