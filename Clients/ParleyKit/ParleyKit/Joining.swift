import Models

/// What came of the code of an invitation.
public enum Joining: Sendable {
    case joined(Talk)
    /// Owners and admins decide. When they let the user in, the group comes into the list; nobody tells that they do not.
    case asked(ConversationID, since: Timestamp)
}
