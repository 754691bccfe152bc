import Models
import Wire

/// How many conversations a user may have in their list. Each costs its user at every start, and their fanout memory.
struct ConversationLimit: Sendable {
    let ofUser: Int32

    /// The last tenth is the user's own: whom others have put into as many conversations as they may, still begins some.
    var whenAddedByOthers: Int32 { ofUser - ofUser / 10 }

    /// How many the user may have taken out of the list: their rows stay, and every start of a session reads them.
    var unlisted: Int32 { 5 * ofUser }
}

extension CreateStatement.Obstacle {
    /// Whose number it is stands in no answer but the creator's own.
    var problem: Problem {
        switch self {
        case .idIsTaken, .memberIsErased: Problem(.conflict, "another conversation has this id, or a member was erased")
        case .creatorHasTooMany: Problem(.conflict, "you are in as many conversations as a user may be")
        case .memberHasTooMany: Problem(.conflict, "members: one of them is in too many conversations")
        }
    }
}
