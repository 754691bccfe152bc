import Models
import Reactor

/// For whom a query is answered: those who share turns at the connections. What is asked on nobody's behalf is one asker.
enum Asker: Hashable {
    case user(UserID)
    /// The sessions of fanouts, which replay a conversation for all of its members at once.
    case conversation(ConversationID)
    case service

    /// Whom the task that runs works for.
    @TaskLocal static var current = Asker.service

    /// What of it the task that runs has done. Nil: each turn is one of its own.
    @TaskLocal static var progress: QueryProgress?

    /// Answers one query of this asker.
    @Reactor func answer<Answer>(_ body: @Reactor () async throws -> Answer) async rethrows -> Answer {
        try await Asker.$current.withValue(self) {
            try await Asker.$progress.withValue(QueryProgress(), operation: body)
        }
    }
}

/// How far a query is.
@Reactor
final class QueryProgress {
    /// It had a turn, and may hold its rows.
    var hasBegun = false
}
