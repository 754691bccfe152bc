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

    nonisolated static let statements =
        [
            ConversationStatement.list, ConversationStatement.single, MembersStatement.statement,
            MembersStatement.single, HistoryStatement.statement, WholeMessages.statement, MessageStatement.statement,
            MessageStatement.ofWriter, RecipientsStatement.statement, ReceiptCounts.statement, ReceiptDates.statement,
            KeptDates.statement, FeedStatement.changes,
            FeedStatement.replay,
            PrivateFeedStatement.statement, BootstrapStatement.statement, PositionsStatement.conversations,
            PositionsStatement.users, RevisionsStatement.statement, TapbacksStatement.statement,
            ReceiptsStatement.statement, ConversationStatement.changed, SyncStatement.position,
            SenderCountsStatement.recent, SenderCountsStatement.stays, SettingsStatement.ofUser,
            SettingsStatement.inConversation,
        ] + HistoryRows.statements + ErasureStatements.queries

    let connection: Connection
    let searching: Search
    private let bus: Bus
    private let log: Log
    private(set) var inWork = 0
    private(set) var answered = 0
    private(set) var lastAnswer = MonotonicTime(nanoseconds: 0)
    var digestsInWork = 0
    /// Where more stays are to be looked at, receipts are counted without a list of them.
    var recipientLimit = RecipientsStatement.limit

    init(_ connection: Connection, search: Connection, bus: Bus, log: Log) {
        self.connection = connection
        searching = Search(search)
        self.bus = bus
        self.log = log
    }

    /// A decoded query, ready to be answered.
    typealias Query = @Reactor () async throws -> [UInt8]

    /// Decodes a query of this kind.
    func decode(_ kind: StoreRequestKind, _ reader: inout ByteReader) throws(WireError) -> Query {
        switch kind {
        case .listConversations: prepare(list, try ListConversations(from: &reader))
        case .conversation: prepare(conversation, try ConversationQuery(from: &reader))
        case .members: prepare(members, try MembersQuery(from: &reader))
        case .history: prepare(history, try HistoryQuery(from: &reader))
        case .message: prepare(message, try MessageQuery(from: &reader))
        case .changes: prepare(changes, try ChangesQuery(from: &reader))
        case .revisions: prepare(revisions, try MessageQuery(from: &reader))
        case .tapbacks: prepare(tapbacks, try TapbacksQuery(from: &reader))
        case .receipts: prepare(receipts, try ReceiptsQuery(from: &reader))
        case .digest: prepare(digest, try DigestQuery(from: &reader))
        case .search: prepare(search, try SearchQuery(from: &reader))
        case .sync: prepare(sync, try SyncQuery(from: &reader))
        case .settings: prepare(settings, try SettingsQuery(from: &reader))
        case .conversationSettings: prepare(conversationSettings, try ConversationQuery(from: &reader))
        case .bootstrap: prepare(bootstrap, try BootstrapQuery(from: &reader))
        case .replay: prepare(replay, try ReplayQuery(from: &reader))
        case .privateReplay: prepare(privateReplay, try PrivateReplayQuery(from: &reader))
        case .positions: prepare(positions, try StreamPositions(from: &reader))
        case .senderCounts: prepare(senderCounts, try SenderCountsQuery(from: &reader))
        case .erasedUsers: prepare(erasedUsers, try ErasedUsersQuery(from: &reader))
        case .createConversation, .sendMessages, .write, .readMoved, .putSettings, .eraseUser, .eraseStep:
            preconditionFailure("commands go to the writer")
        }
    }

    private func prepare<Fields>(_ body: @escaping @Reactor (Fields) async throws -> [UInt8], _ fields: Fields) -> Query
    {
        { try await body(fields) }
    }

    /// Begins to answer. False when too many queries are being answered.
    func answer(_ request: RequestKey, _ query: @escaping Query) -> Bool {
        guard inWork < Self.limit else { return false }
        Reactor.spawn { [self] in await finish(request, query) }
        return true
    }

    /// Answers `request` with what `body` makes. When the database fails, the request is given back: its repetition
    /// finds it working again, here or at another store, or runs into its deadline.
    func finish(_ request: RequestKey, status: UInt16 = 200, _ body: Query) async {
        inWork += 1
        defer { inWork -= 1 }
        do {
            let payload = try await body()
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

    /// A created conversation as its creator sees it: 201 when it is new, 200 when it existed with them as a member.
    func answerCreation(
        _ request: RequestKey, _ creation: CreateConversation, _ obstacle: CreateStatement.Obstacle?
    ) async {
        await finish(request, status: obstacle == nil ? 201 : 200) { [self] in
            do {
                return try await conversation(ConversationQuery(creation.conversation, reader: creation.creator))
            } catch let problem as Problem where problem.code == .notFound {
                throw obstacle?.problem ?? problem
            }
        }
    }

    /// A sent message as it is now; nil when it cannot be read at the moment.
    func message(_ id: MessageID, in conversation: ConversationID, of sender: UserID) async -> [UInt8]? {
        let head = ConversationQuery(conversation, reader: sender)
        return try? await message(MessageQuery(head, message: id), by: MessageStatement.ofWriter)
    }
}
