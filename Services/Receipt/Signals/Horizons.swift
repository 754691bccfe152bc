import Models

/// How far a user is in a conversation: all messages up to `delivered` are received, those up to `read` are read; 0:
/// none.
struct Horizons: Hashable {
    var delivered: Int64
    var read: Int64

    static let none = Horizons(delivered: 0, read: 0)

    /// Horizons only move forward.
    mutating func merge(_ other: Horizons) {
        self = Horizons(delivered: max(delivered, other.delivered), read: max(read, other.read))
    }

    /// Whether `other` has nothing new. A read message is also received.
    func covers(_ other: Horizons) -> Bool { read >= other.read && max(delivered, read) >= other.delivered }
}

/// Identifies horizons by their conversation and user.
struct HorizonKey: Hashable {
    let conversation: ConversationID
    let user: UserID
}
