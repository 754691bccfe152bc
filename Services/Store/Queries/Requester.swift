import Models
import Reactor
import Wire

/// The requester of a query. Requesters share turns at the connections. All queries on nobody's behalf share one.
enum Requester: Hashable {
    case user(UserID)
    /// The sessions of fanouts, which replay a conversation for all of its members at once.
    case conversation(ConversationID)
    case service

    init(_ requester: StatementQuery.Requester) {
        switch requester {
        case .user(let user): self = .user(user)
        case .conversation(let conversation): self = .conversation(conversation)
        case .service: self = .service
        }
    }

    /// As other stores are told of it.
    var inQuery: StatementQuery.Requester {
        switch self {
        case .user(let user): .user(user)
        case .conversation(let conversation): .conversation(conversation)
        case .service: .service
        }
    }

    /// The requester that the running task works for.
    @TaskLocal static var current = Requester.service

    /// The progress of the running task's query. Nil: each turn is a query by itself.
    @TaskLocal static var progress: QueryProgress?

    /// Runs `body` for one query of this requester.
    @Reactor func run<Result>(_ body: @Reactor () async throws -> Result) async rethrows -> Result {
        try await Requester.$current.withValue(self) {
            try await Requester.$progress.withValue(QueryProgress(), operation: body)
        }
    }
}

/// The progress of a query.
@Reactor
final class QueryProgress {
    /// The query had a turn, and may hold its rows.
    var hasBegun = false
}
