import Models
import Wire

/// The number of conversations that a user may have in their list. Each costs its user at every start, and their fanout
/// memory.
struct ConversationLimit: Sendable {
    let ofUser: Int32

    /// The last tenth is reserved for the user's own conversations, so a user whose list others have filled can still
    /// create some.
    var whenAddedByOthers: Int32 { ofUser - ofUser / 10 }

    /// The number of conversations that a user may have removed from the list. Their rows remain, and every session
    /// start reads them.
    var unlisted: Int32 { 5 * ofUser }
}

extension CreateStatement.Obstacle {
    /// The text says whose list is full only if it is the creator's own.
    var problem: Problem {
        switch self {
        case .idIsTaken, .memberIsErased: Problem(.conflict, "another conversation has this id, or a member was erased")
        case .creatorHasTooMany: Problem(.conflict, "you are in as many conversations as a user may be")
        case .memberHasTooMany: Problem(.conflict, "members: one of them is in too many conversations")
        }
    }
}
