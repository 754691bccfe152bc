import Models
import Wire

/// What a deployment allows of conversations. `ofUser` is the number that a user may have in their list: each costs its user
/// at every start, and their fanout memory.
struct ConversationLimit: Sendable {
    let ofUser: Int32
    /// The members that a conversation may have.
    var members = Int32(ContractLimits.membersPerConversation)
    /// Whether users are asked before a stranger brings them into a conversation. Then it is not in their list.
    var asksStrangers = false

    /// The last tenth is reserved for the user's own conversations, so a user whose list others have filled can still
    /// create some.
    var whenAddedByOthers: Int32 { ofUser - ofUser / 10 }

    /// Whether somebody comes in, by the option where the application was not asked.
    func decided(_ consent: Consent) -> Consent {
        consent == .byOption ? (asksStrangers ? .asked : .given) : consent
    }

    /// The number of conversations that a user may have removed from the list. Their rows remain, and every session
    /// start reads them.
    var unlisted: Int32 { 5 * ofUser }
}
