import Models
import Postgres
import Reactor
import Slots
import Wire

/// The changes of a conversation in a range of positions, and the position of the conversation, in one snapshot.
enum FeedStatement {
    private struct ReplayInput: NamedFields {
        let key: ConversationInput
        let range: RangeInput
        let asOf: Parameter<Int64>
    }

    private struct ChangesInput: NamedFields {
        let head: ReaderInput
        let range: RangeInput
    }

    struct RangeInput: NamedFields {
        let after: Parameter<Int64>
        let through: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    /// The columns of {feed}, of which all statements of changes return these and no others.
    struct Columns: NamedFields {
        let lastSeq: Column<Int64>
        let conversationKind: Column<ConversationKind>
        let conversationCreatedAt: Column<Timestamp>
        let memberCount: Column<Int32>
        let changeSeq: Column<Int64>
        /// A number, because kinds of a later version may be among them.
        let changeKind: Column<Int16>
        let at: Column<Timestamp>
        let actorId: Column<UserID>
        let userId: Column<String?>
        /// As the kind.
        let role: Column<Int16?>
        let title: Column<String?>
        let permissions: Column<Int16?>
        let lifetime: Column<Int32?>
        let lifetimeFromReading: Column<Bool?>
        let keptFrom: Column<Int64?>
        let message: WholeMessageColumns
    }

    static let columns = SQLNames.store.columns(Columns.self, of: "feed")

    static let queries = [replay.untyped, changes.untyped]

    private static let replay = PreparedStatement<ReplayInput, Columns>(
        "replay", PackageResources.replay_sql, .store)
    private static let changes = PreparedStatement<ChangesInput, Columns>(
        "changes", PackageResources.changes_sql, .store)

    /// The latest changes, for a write that was just carried out, in the same transaction.
    static func addLatest(of conversation: ConversationID, to batch: inout Batch) {
        batch.execute(latest) { $0.set($1, to: conversation) }
    }

    static let latest = PreparedStatement<ConversationInput, Columns>(
        "latest_changes", PackageResources.latest_changes_sql, .store)

    @Reactor static func replay(_ query: ReplayQuery, on connection: QueryConnections) async throws -> Rows {
        try await connection.query(replay) { parameters, input in
            parameters.set(input.key, to: query.conversation)
            parameters.set(input.range, after: query.after, through: query.through, limit: Int(query.limit))
            parameters.set(input.asOf, to: query.asOf)
        }
    }

    /// - Parameter limit: one more than the query's, to detect further changes.
    @Reactor static func changes(
        _ query: AfterPositionQuery, limit: Int, on connection: QueryConnections
    ) async throws -> Rows {
        try await connection.query(changes) { parameters, input in
            parameters.set(input.head, to: query.head)
            parameters.set(input.range, after: query.after, through: .max, limit: limit)
        }
    }

    static func lastSeq(_ row: Row) -> Int64 { row[columns.lastSeq] }

    /// Whether the outer join found no change.
    static func isEmpty(_ row: Row) -> Bool { row.isNull(columns.changeSeq) }

    /// The name of the user whom a membership change is about.
    static func user(_ row: Row) -> String { row[columns.userId] ?? "" }
}

extension Parameters {
    fileprivate mutating func set(
        _ input: FeedStatement.RangeInput, after: Int64, through: Int64, limit: Int
    ) {
        set(input.after, to: after)
        set(input.through, to: through)
        set(input.limit, to: Int64(limit))
    }
}

extension ChangeFields {
    /// Reads a row of the feed. Nil if the outer join found no change, and for kinds of a later version.
    init?(_ row: Row, conversation: ConversationID) {
        let columns = FeedStatement.columns
        guard !FeedStatement.isEmpty(row), let kind = ChangeKind(rawValue: UInt8(row[columns.changeKind])) else {
            return nil
        }
        self.conversation = conversation
        self.kind = kind
        seq = row[columns.changeSeq]
        at = row[columns.at]
        actor = row[columns.actorId]
        content = Self.content(row, columns, kind, conversation)
    }

    private static func content(
        _ row: Row, _ columns: FeedStatement.Columns, _ kind: ChangeKind, _ conversation: ConversationID
    ) -> Content {
        switch kind {
        case .conversationCreated:
            return .conversation(
                kind: row[columns.conversationKind], title: row[columns.title],
                createdAt: row[columns.conversationCreatedAt], memberCount: Int(row[columns.memberCount]))
        case .conversationRenamed:
            return .title(row[columns.title] ?? "")
        case .permissionsChanged:
            return .permissions(row[columns.permissions].map { GroupPermissions(number: UInt8($0)) } ?? .byDefault)
        case .lifetimeChanged:
            return .lifetime(
                MessageLifetime(
                    row[columns.lifetime], fromReading: row[columns.lifetimeFromReading], since: row[columns.changeSeq])
            )
        case .historyTrimmed:
            return .trimmed(keptFrom: row[columns.keptFrom] ?? 1)
        case .memberAdded, .memberRemoved, .memberChanged:
            let role = row[columns.role].flatMap { MemberRole(rawValue: UInt8($0)) }
            return .member(user: row[columns.userId] ?? "", role: role)
        case .messageCreated, .messageEdited, .messageDeleted, .tapbackSet, .tapbackRemoved, .messagePinned,
            .messageUnpinned, .pollVoted, .pollClosed:
            return .message(MessageFields(row, columns.message, in: conversation))
        }
    }
}
