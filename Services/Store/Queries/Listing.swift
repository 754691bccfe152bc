/// What is in a user's list of conversations: SQL conditions on rows `i` of `store.inbox`.
enum Listing {
    /// Not what the user has taken out after leaving. For counting, under the lock of the user's stream.
    static let isListed = "NOT i.is_removed"

    /// For reading. Executables that know nothing of it take users back in and leave the row as it is: who is a member sees
    /// the conversation, whatever the row says.
    static func shows(to user: String) -> String {
        """
        (\(isListed) OR (
            SELECT true FROM store.memberships s
            WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = \(user) AND s.left_seq IS NULL
        ) IS NOT NULL)
        """
    }
}
