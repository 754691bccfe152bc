import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Responds to queries. They use separate connections, so a long page neither waits for a commit nor delays one. They
/// take turns, so no requester waits for another's pages.
@Reactor
final class Queries {
    /// The limit of queries in flight, and of their bytes. A requester gets no more than what is still free. A further
    /// query is refused as overload.
    static let limit = 4_096
    static let byteLimit = 64 * 1024 * 1024

    nonisolated static let statements =
        [
            ConversationStatement.list, ConversationStatement.single, MembersStatement.statement,
            MembersStatement.single, HistoryStatement.statement.untyped, WholeMessages.statement.untyped,
            MessageStatement.statement,
            MessageStatement.ofWriter, RecipientsStatement.statement, ReceiptCounts.statement, ReceiptDates.statement,
            KeptDates.statement, FeedStatement.changes,
            FeedStatement.replay,
            PrivateFeedStatement.statement, BootstrapStatement.statement, PositionsStatement.conversations,
            PositionsStatement.users, RevisionsStatement.statement, TapbacksStatement.statement,
            ReceiptsStatement.statement, ConversationStatement.changed, SyncStatement.position,
            SenderCountsStatement.recent, SenderCountsStatement.stays, SettingsStatement.ofUser,
            SettingsStatement.inConversation, UnreadStatement.blocks, UnreadStatement.latest,
        ] + HistoryRows.statements + FormerReceipts.statements + ErasureStatements.queries
        + RevocationStatements.queries

    let connection: QueryConnections
    let searching: Search
    let unread: UnreadWalk
    private let bus: Bus
    private let log: Log
    private var room = SharedRoom(limit: Queries.limit, byteLimit: Queries.byteLimit)
    private(set) var inWork = 0
    private(set) var answered = 0
    private(set) var lastAnswer = MonotonicTime(nanoseconds: 0)
    var digestsInWork = SharedRoom(limit: Queries.digestsLimit)
    /// With more stays than this, receipts are counted without listing the recipients.
    var recipientLimit = ContractLimits.namedMembers

    init(_ configuration: StoreConfiguration, bus: Bus, log: Log) {
        connection = QueryConnections(configuration.queries, count: configuration.queryConnections)
        searching = Search(QueryConnections(configuration.search, count: 1, depth: 1))
        unread = UnreadWalk(connection)
        self.bus = bus
        self.log = log
    }

    typealias Body = @Reactor () async throws -> [UInt8]

    /// A decoded query, ready to run.
    struct Query {
        let asker: Asker
        /// The size of its fields.
        let byteCount: Int
        let body: Body
    }

    /// Decodes a query of this kind.
    func decode(_ kind: StoreRequestKind, _ reader: inout ByteReader) throws(WireError) -> Query {
        let byteCount = reader.remaining
        func prepare<Fields: WireCodable>(
            _ body: @escaping @Reactor (Fields) async throws -> [UInt8], by asker: (Fields) -> Asker
        ) throws(WireError) -> Query {
            let fields = try Fields(from: &reader)
            return Query(asker: asker(fields), byteCount: byteCount) { try await body(fields) }
        }
        return switch kind {
        case .listConversations: try prepare(list) { .user($0.reader) }
        case .conversation: try prepare(conversation) { .user($0.reader) }
        case .members: try prepare(members) { .user($0.head.reader) }
        case .history: try prepare(history) { .user($0.head.reader) }
        case .message: try prepare(message) { .user($0.head.reader) }
        case .changes: try prepare(changes) { .user($0.head.reader) }
        case .revisions: try prepare(revisions) { .user($0.head.reader) }
        case .tapbacks: try prepare(tapbacks) { .user($0.message.head.reader) }
        case .receipts: try prepare(receipts) { .user($0.message.head.reader) }
        case .digest: try prepare(digest) { .user($0.head.reader) }
        case .search: try prepare(search) { .user($0.reader) }
        case .sync: try prepare(sync) { .user($0.user) }
        case .settings: try prepare(settings) { .user($0.user) }
        case .conversationSettings: try prepare(conversationSettings) { .user($0.reader) }
        case .bootstrap: try prepare(bootstrap) { .user($0.user) }
        case .replay: try prepare(replay) { .conversation($0.conversation) }
        case .privateReplay: try prepare(privateReplay) { .user($0.user) }
        case .positions: try prepare(positions) { _ in .service }
        case .senderCounts: try prepare(senderCounts) { .conversation($0.conversation) }
        case .erasedUsers: try prepare(erasedUsers) { _ in .service }
        case .revocations: try prepare(revocations) { _ in .service }
        case .createConversation, .sendMessages, .write, .readMoved, .putSettings, .eraseUser, .eraseStep,
            .revokeTokens:
            preconditionFailure("commands go to the writer")
        }
    }

    /// Starts answering a query. Returns false if too many queries are in flight, in all or for this requester.
    func answer(_ request: RequestKey, _ query: Query) -> Bool {
        guard room.enter(query.asker, bytes: query.byteCount) else { return false }
        Reactor.spawn { [self] in
            await finish(request, for: query.asker, query.body)
            room.leave(query.asker, bytes: query.byteCount)
        }
        return true
    }

    /// Responds to `request` with the result of `body`. If the database fails, the request is released. Its repetition
    /// finds a working database, here or at another store, or reaches its deadline.
    func finish(_ request: RequestKey, status: UInt16 = 200, for asker: Asker, _ body: @escaping Body) async {
        inWork += 1
        defer { inWork -= 1 }
        do {
            let payload = try await asker.answer(body)
            answered += 1
            lastAnswer = .now
            bus.answer(request, status: status) { $0.append(payload) }
        } catch let problem as Problem {
            bus.answer(request, problem)
        } catch {
            log.warning("query failed", [LogField("reason", "\(error)")])
            bus.abandon(request)
        }
    }

    // MARK: For commands

    /// Responds with a created conversation as its creator sees it: 201 if it is new, 200 if it already existed with
    /// them as a member.
    func answerCreation(
        _ request: RequestKey, _ creation: CreateConversation, _ obstacle: CreateStatement.Obstacle?
    ) async {
        await finish(request, status: obstacle == nil ? 201 : 200, for: .user(creation.creator)) { [self] in
            do {
                return try await conversation(ConversationQuery(creation.conversation, reader: creation.creator))
            } catch let problem as Problem where problem.code == .notFound {
                throw obstacle?.problem ?? problem
            }
        }
    }

    /// Returns a sent message in its present state; nil if it cannot be read at the moment.
    func message(_ id: MessageID, in conversation: ConversationID, of sender: UserID) async -> [UInt8]? {
        let head = ConversationQuery(conversation, reader: sender)
        return try? await Asker.user(sender).answer {
            try await message(MessageQuery(head, message: id), by: MessageStatement.ofWriter)
        }
    }
}
