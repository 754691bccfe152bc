/// The contents of a user's list of conversations: SQL conditions on rows `i` of `store.inbox`.
enum Listing {
    /// Leaves out what the user has removed from the list after leaving. For counting, under the lock of the user's
    /// stream.
    static let isListed = "NOT i.is_removed"

    /// For reading. Executables that do not know the column add users again without changing the row, so a member sees
    /// the conversation whatever the row says.
    static func shows(to user: String) -> String {
        """
        (\(isListed) OR (
            SELECT true FROM store.memberships s
            WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = \(user) AND s.left_seq IS NULL
        ) IS NOT NULL)
        """
    }
}
