import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Answers queries, on a connection of their own so that a long page never waits for a commit or delays one.
@Reactor
final class Queries {
    /// Queries being answered at once. Beyond it a query is refused as overload.
    static let limit = 4_096

    static let statements = [
        ConversationStatement.list, ConversationStatement.single, MembersStatement.statement,
        HistoryStatement.statement,
        MessageStatement.statement, ReceiptCounts.statement, FeedStatement.changes, FeedStatement.replay,
        PrivateFeedStatement.statement, BootstrapStatement.statement, PositionsStatement.conversations,
        PositionsStatement.users,
    ]

    let connection: Connection
    private let bus: Bus
    private let log: Log
    private(set) var inWork = 0
    private(set) var answered = 0

    init(_ connection: Connection, bus: Bus, log: Log) {
        self.connection = connection
        self.bus = bus
        self.log = log
    }

    /// Begins to answer a query whose fields start at `reader`.
    func answer(_ request: RequestKey, _ kind: StoreRequestKind, _ reader: inout ByteReader) throws(WireError) {
        switch kind {
        case .listConversations: answer(request, try ListConversations(from: &reader), list)
        case .conversation: answer(request, try ConversationQuery(from: &reader), conversation)
        case .members: answer(request, try MembersQuery(from: &reader), members)
        case .history: answer(request, try HistoryQuery(from: &reader), history)
        case .message: answer(request, try MessageQuery(from: &reader), message)
        case .changes: answer(request, try ChangesQuery(from: &reader), changes)
        case .bootstrap: answer(request, try BootstrapQuery(from: &reader), bootstrap)
        case .replay: answer(request, try ReplayQuery(from: &reader), replay)
        case .privateReplay: answer(request, try PrivateReplayQuery(from: &reader), privateReplay)
        case .positions: answer(request, try StreamPositions(from: &reader), positions)
        case .createConversation, .sendMessages: preconditionFailure("commands go to the writer")
        }
    }

    private func answer<Query: Sendable>(
        _ request: RequestKey, _ query: Query, _ body: @escaping @Reactor (Query) async throws -> [UInt8]
    ) {
        guard inWork < Self.limit else {
            return bus.answer(request, Problem(.overloaded, "too many queries are being answered"))
        }
        Reactor.spawn { [self] in await finish(request) { try await body(query) } }
    }

    /// Answers `request` with what `body` makes. When the database fails, the request is given back: its repetition
    /// finds it working again, here or at another store, or runs into its deadline.
    private func finish(_ request: RequestKey, status: UInt16 = 200, _ body: @Reactor () async throws -> [UInt8]) async
    {
        inWork += 1
        defer { inWork -= 1 }
        do {
            let payload = try await body()
            answered += 1
            bus.answer(request, status: status) { $0.append(payload) }
        } catch let problem as Problem {
            bus.answer(request, problem)
        } catch {
            log.warning("query failed", [LogField("reason", "\(error)")])
            bus.abandon(request)
        }
    }

    // MARK: For commands

    /// A created conversation as its creator sees it: 201 when it is new, 200 when it existed with them as a member.
    func answerCreation(_ request: RequestKey, _ creation: CreateConversation, isNew: Bool) async {
        await finish(request, status: isNew ? 201 : 200) { [self] in
            do {
                return try await conversation(ConversationQuery(creation.conversation, reader: creation.creator))
            } catch let problem as Problem where problem.code == .notFound {
                throw Problem(.conflict, "id: another conversation has this id")
            }
        }
    }

    /// A sent message as its sender sees it now; nil when it cannot be read at the moment.
    func message(_ item: SendItem) async -> [UInt8]? {
        let head = ConversationQuery(item.conversation, reader: item.sender)
        return try? await message(MessageQuery(head, message: item.message.id))
    }
}
