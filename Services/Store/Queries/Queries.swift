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
            MembersStatement.page.untyped, MembersStatement.single.untyped, HistoryStatement.statement.untyped,
            WholeMessages.statement.untyped, MessageStatement.statement.untyped, MessageStatement.ofWriter.untyped,
            WrittenMessagesStatement.statement.untyped, ForwardSourceStatement.statement.untyped,
            RecipientsStatement.statement, ReceiptCounts.statement.untyped, ReceiptDates.statement.untyped,
            KeptDates.statement.untyped, PrivateFeedStatement.statement.untyped, BootstrapStatement.statement.untyped,
            PositionsStatement.conversations.untyped, PositionsStatement.users.untyped,
            RevisionsStatement.statement.untyped, TapbacksStatement.statement.untyped,
            VotesStatement.statement.untyped,
            ReceiptsStatement.statement.untyped, SyncStatement.position.untyped, SenderCountsStatement.recent.untyped,
            SenderCountsStatement.stays.untyped, SettingsStatement.ofUser.untyped, BlocksStatement.statement.untyped,
            RequestsStatement.statement.untyped, BansStatement.statement.untyped,
            PinnedMessagesStatement.statement.untyped, MentionsStatement.statement.untyped,
            SettingsStatement.inConversation.untyped,
            Lifetimes.due.untyped, Retention.due.untyped, ScheduledSending.due.untyped,
            ScheduledStatement.statement.untyped,
        ] + UnreadStatement.all + ConversationStatement.all + LoneReceipts.statements + FeedStatement.queries
        + HistoryRows.statements
        + FormerReceipts.statements
        + ErasureStatements.queries + RevocationStatements.queries + ExportStatements.all
        + MediaStatements.queries + ProfileStatements.queries + InvitationStatements.all
        + ReportStatements.all + JoinRequestStatements.all + [AuditStatements.page.untyped]

    let connection: QueryConnections
    let searching: Search
    let unread: UnreadWalk
    private let bus: Bus
    private let log: Log
    private var room = SharedRoom(limit: Queries.limit, byteLimit: Queries.byteLimit)
    private(set) var inFlight = 0
    private(set) var answered = 0
    private(set) var lastResponse = MonotonicTime(nanoseconds: 0)
    var digestsInFlight = SharedRoom(limit: Queries.digestsLimit)
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
        let requester: Requester
        /// The size of its fields.
        let byteCount: Int
        let body: Body
    }

    /// Decodes a query of this kind.
    func decode(_ kind: StoreRequestKind, _ reader: inout ByteReader) throws(WireError) -> Query {
        let byteCount = reader.remaining
        func prepare<Fields: WireCodable>(
            _ body: @escaping @Reactor (Fields) async throws -> [UInt8], by requester: (Fields) -> Requester
        ) throws(WireError) -> Query {
            let fields = try Fields(from: &reader)
            return Query(requester: requester(fields), byteCount: byteCount) { try await body(fields) }
        }
        return switch kind {
        case .listConversations: try prepare(list) { .user($0.reader) }
        case .conversation: try prepare(conversation) { .user($0.reader) }
        case .members: try prepare(members) { .user($0.head.reader) }
        case .bans: try prepare(bans) { .user($0.head.reader) }
        case .joinRequests: try prepare(joinRequests) { .user($0.head.reader) }
        case .pinnedMessages: try prepare(pinnedMessages) { .user($0.head.reader) }
        case .mentions: try prepare(mentions) { .user($0.head.reader) }
        case .scheduled: try prepare(scheduled) { .user($0.user) }
        case .invitations: try prepare(invitations) { .user($0.reader) }
        case .invitation: try prepare(invitation) { .user($0.head.reader) }
        case .history: try prepare(history) { .user($0.head.reader) }
        case .message: try prepare(message) { .user($0.head.reader) }
        case .changes: try prepare(changes) { .user($0.head.reader) }
        case .revisions: try prepare(revisions) { .user($0.head.reader) }
        case .tapbacks: try prepare(tapbacks) { .user($0.message.head.reader) }
        case .votes: try prepare(votes) { .user($0.page.message.head.reader) }
        case .receipts: try prepare(receipts) { .user($0.message.head.reader) }
        case .digest: try prepare(digest) { .user($0.head.reader) }
        case .search: try prepare(search) { .user($0.reader) }
        case .sync: try prepare(sync) { .user($0.user) }
        case .settings: try prepare(settings) { .user($0.user) }
        case .unreadTotal: try prepare(unreadTotal) { .user($0.user) }
        case .blocks: try prepare(blocks) { .user($0.user) }
        case .devices: try prepare(devices) { .user($0.user) }
        case .suspension: try prepare(suspension) { .user($0.user) }
        case .reports: try prepare(reports) { .user($0.administrator) }
        case .report: try prepare(report) { .user($0.head.reader) }
        case .acts: try prepare(acts) { .user($0.administrator) }
        case .forwardSource: try prepare(forwardSource) { .user($0.head.reader) }
        case .writtenMessages: try prepare(writtenMessages) { .user($0.sender) }
        case .requests: try prepare(requests) { .user($0.user) }
        case .profiles: try prepare(profiles) { .user($0.reader) }
        case .conversationSettings: try prepare(conversationSettings) { .user($0.reader) }
        case .exportedConversations: try prepare(exportedConversations) { .user($0.user) }
        case .exportHead: try prepare(exportHead) { .conversation($0.conversation) }
        case .exportReceipts: try prepare(exportReceipts) { .conversation($0.conversation) }
        case .exportPage: try prepare(exportPage) { .conversation($0.conversation) }
        case .bootstrap: try prepare(bootstrap) { .user($0.user) }
        case .replay: try prepare(replay) { .conversation($0.conversation) }
        case .privateReplay: try prepare(privateReplay) { .user($0.user) }
        case .positions: try prepare(positions) { _ in .service }
        case .senderCounts: try prepare(senderCounts) { .conversation($0.conversation) }
        case .erasedUsers: try prepare(erasedUsers) { _ in .service }
        case .revocations: try prepare(revocations) { _ in .service }
        case .mayReadAttachment:
            try prepare(mayReadAttachment) { query in query.reader.map { .user($0) } ?? .service }
        case .userRows: try prepare(userRows) { query in query.users.first.map { .user($0) } ?? .service }
        case .statement: try prepare(statement) { .init($0.requester) }
        case .createConversation, .sendMessages, .sendWithAttachments, .sendWhole, .sendSealed, .sendPoll,
            .sendForwarded,
            .write, .readMoved,
            .putSettings,
            .putProfile,
            .eraseUser,
            .eraseStep,
            .revokeTokens, .endDevices, .noteDevice, .suspendUser, .importRecords, .dropImport,
            .expireMessages, .sendScheduled, .trimHistory, .recordAct, .endAct:
            preconditionFailure("commands go to the writer")
        }
    }

    /// Starts answering a query. Returns false if too many queries are in flight, in all or for this requester.
    func respond(to request: RequestKey, _ query: Query) -> Bool {
        guard room.enter(query.requester, bytes: query.byteCount) else { return false }
        Reactor.spawn { [self] in
            await finish(request, for: query.requester, query.body)
            room.leave(query.requester, bytes: query.byteCount)
        }
        return true
    }

    /// Responds to `request` with the result of `body`. If the database fails, the request is released. Its repetition
    /// finds a working database, here or at another store, or reaches its deadline.
    func finish(_ request: RequestKey, status: UInt16 = 200, for requester: Requester, _ body: @escaping Body) async {
        await finish(request, for: requester) { WriteAnswer(status: status, body: try await body()) }
    }

    /// The same where the result says the status.
    func finish(
        _ request: RequestKey, for requester: Requester, _ body: @escaping @Reactor () async throws -> WriteAnswer
    ) async {
        inFlight += 1
        defer { inFlight -= 1 }
        do {
            let answer = try await requester.run(body)
            answered += 1
            lastResponse = .now
            bus.respond(to: request, status: answer.status) { $0.append(answer.body) }
        } catch let problem as Problem {
            bus.respond(to: request, problem)
        } catch let error as DatabaseError where Problem(ofQuery: error) != nil {
            log.warning("query failed", [LogField("reason", error.debugDescription)])
            bus.respond(to: request, Problem(ofQuery: error)!)
        } catch {
            log.warning("query failed", [LogField("reason", "\(error)")])
            bus.abandon(request)
        }
    }

    // MARK: For commands

    /// Reads what a command needs before it comes again. It counts as in flight until then, so that the process does not end between.
    func reading(_ body: @Reactor () async -> Void) async {
        inFlight += 1
        await body()
        inFlight -= 1
    }

    /// Returns a sent message in its present state; nil if it cannot be read at the moment.
    func message(_ id: MessageID, in conversation: ConversationID, of sender: UserID) async -> [UInt8]? {
        let head = ConversationQuery(conversation, reader: sender)
        return try? await Requester.user(sender).run {
            try await message(MessageQuery(head, message: id), by: MessageStatement.ofWriter)
        }
    }
}
