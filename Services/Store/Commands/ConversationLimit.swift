/// The number of conversations that a user may have in their list. Each costs its user at every start, and their fanout
/// memory.
struct ConversationLimit: Sendable {
    let ofUser: Int32
    /// The number of requests of a kind that may wait for a user: of direct conversations, and of groups. Nil: nobody is asked
    /// before a stranger brings them into a conversation.
    var requests: Int32?

    /// The last tenth is reserved for the user's own conversations, so a user whose list others have filled can still
    /// create some.
    var whenAddedByOthers: Int32 { ofUser - ofUser / 10 }

    /// The number of conversations that a user may have removed from the list. Their rows remain, and every session
    /// start reads them.
    var unlisted: Int32 { 5 * ofUser }
}
