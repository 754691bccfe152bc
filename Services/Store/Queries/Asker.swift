import Models

/// For whom a query is answered: those who share turns at the connections. What is asked on nobody's behalf is one asker.
enum Asker: Hashable {
    case user(UserID)
    /// The sessions of fanouts, which replay a conversation for all of its members at once.
    case conversation(ConversationID)
    case service

    /// Whom the task that runs works for.
    @TaskLocal static var current = Asker.service
}
