import Models
import Reactor

/// The requester of a query. Requesters share turns at the connections. All queries on nobody's behalf share one.
enum Asker: Hashable {
    case user(UserID)
    /// The sessions of fanouts, which replay a conversation for all of its members at once.
    case conversation(ConversationID)
    case service

    /// The requester that the running task works for.
    @TaskLocal static var current = Asker.service

    /// The progress of the running task's query. Nil: each turn is a query by itself.
    @TaskLocal static var progress: QueryProgress?

    /// Runs `body` for one query of this requester.
    @Reactor func answer<Answer>(_ body: @Reactor () async throws -> Answer) async rethrows -> Answer {
        try await Asker.$current.withValue(self) {
            try await Asker.$progress.withValue(QueryProgress(), operation: body)
        }
    }
}

/// The progress of a query.
@Reactor
final class QueryProgress {
    /// The query had a turn, and may hold its rows.
    var hasBegun = false
}
