/// The contents of a user's list of conversations: an SQL condition on rows `i` of `store.inbox`.
enum Listing {
    /// Leaves out what the user has removed from the list after leaving. For counting, under the lock of the user's
    /// stream; reading takes {is_shown_in_list}.
    static let isListed = "NOT i.is_removed"
}
