import Models

/// How far a user is in a conversation: has all messages up to `delivered`, has read those up to `read`; 0: nothing.
struct Horizons: Hashable {
    var delivered: Int64
    var read: Int64

    static let none = Horizons(delivered: 0, read: 0)

    /// Horizons only move forward.
    mutating func merge(_ other: Horizons) {
        self = Horizons(delivered: max(delivered, other.delivered), read: max(read, other.read))
    }

    /// Whether `other` says nothing new. Who has read has received.
    func covers(_ other: Horizons) -> Bool { read >= other.read && max(delivered, read) >= other.delivered }
}

/// Whose horizons, and where.
struct HorizonKey: Hashable {
    let conversation: ConversationID
    let user: UserID
}
