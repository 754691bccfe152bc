/// The number of conversations that a user may have in their list. Each costs its user at every start, and their fanout
/// memory.
struct ConversationLimit: Sendable {
    let ofUser: Int32
    /// Whether users are asked before a stranger brings them into a conversation. Then it is not in their list.
    var asksStrangers = false

    /// The last tenth is reserved for the user's own conversations, so a user whose list others have filled can still
    /// create some.
    var whenAddedByOthers: Int32 { ofUser - ofUser / 10 }

    /// The number of conversations that a user may have removed from the list. Their rows remain, and every session
    /// start reads them.
    var unlisted: Int32 { 5 * ofUser }
}
