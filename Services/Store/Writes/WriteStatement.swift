import Models
import Postgres
import Slots
import Wire

/// The common frame of the statements that carry out one `Write` each.
///
/// One CTE, `verdict`, decides the outcome of the write. Everything else happens only where its `problem` is 0. The
/// conversation's row is locked beforehand, so the facts behind the decision cannot change. Keys are locked too, so
/// only one transaction at a time writes outcomes under a key.
///
/// Parameters of every statement: $1 slot · $2 conversation · $3 actor · $4 the actor's slot · $5 key or request (see
/// `addName`) · $6 action number · $7 subject (the message, a hash of the member's name, or NULL). The action's own
/// parameters follow.
enum WriteStatement {
    static let commonParameters: [PostgresType] = [.int2, .uuid, .text, .int2, .array(.uuid), .int2, .uuid]

    /// - Parameter request: makes a write without a key happen once. Nil: the write may safely be repeated.
    static func addCommon(_ write: Write, _ request: RequestKey?, to parameters: inout Parameters) {
        parameters.add(write.conversation.slot)
        parameters.add(write.conversation)
        parameters.add(write.actor)
        parameters.add(write.actor.slot)
        addName(write.key, request, to: &parameters)
        parameters.add(Int16(write.action.number))
        parameters.add(write.action.subject)
    }

    /// Adds the name by which a repeated write is recognized: two elements, at least one of them NULL. The client's key
    /// is kept for ever. A request without a key is kept for as long as the bus may repeat it.
    static func addName(_ key: UUIDBytes?, _ request: RequestKey?, to parameters: inout Parameters) {
        parameters.addArray(of: .uuid)
        parameters.append(key)
        parameters.append(key == nil ? request?.uuid : nil)
    }

    /// The parameters common to all writes.
    struct Input: NamedFields {
        let slot: Parameter<Slot>
        let conversation: Parameter<ConversationID>
        let actor: Parameter<UserID>
        let actorSlot: Parameter<Slot>
        let knownBy: Parameter<[UUIDBytes?]>
        let action: Parameter<Int16>
        let subject: Parameter<UUIDBytes?>
    }

    /// - Parameter request: see `addCommon`.
    static func set(_ input: Input, to write: Write, _ request: RequestKey?, in parameters: inout Parameters) {
        parameters.set(input.slot, to: write.conversation.slot)
        parameters.set(input.conversation, to: write.conversation)
        parameters.set(input.actor, to: write.actor)
        parameters.set(input.actorSlot, to: write.actor.slot)
        parameters.set(input.knownBy, to: [write.key, write.key == nil ? request?.uuid : nil])
        parameters.set(input.action, to: Int16(write.action.number))
        parameters.set(input.subject, to: write.action.subject)
    }

    /// Builds a statement.
    ///
    /// - Parameters:
    ///   - byErased: whether erased users may do it; other writes refuse them.
    ///   - byFormer: whether it is for former members instead of present ones.
    ///   - facts: CTEs that `problem` reads, each followed by a comma.
    ///   - problem: the WHENs of a CASE, for a present member and a new key; `Problem.Code` numbers.
    ///   - isVoid: a condition under which there is nothing to do, without being a problem.
    ///   - positions: an SQL expression for the number of conversation positions the write takes.
    ///   - sets: more columns of the conversation `c` to set, each preceded by a comma.
    ///   - effects: CTEs, each preceded by a comma. `moved` has the conversation's new position and time if the write
    ///     is carried out.
    ///   - useq: an SQL expression for the new position of the notified private stream.
    ///   - told: an SQL expression for the conversation position that the private change reports, or for its other
    ///     content.
    static func statement(
        _ name: String, parameters: [PostgresType] = [], byErased: Bool = false, byFormer: Bool = false,
        facts: String, problem: String,
        isVoid: String,
        positions: String, sets: String = "", effects: String, useq: String = "NULL::bigint",
        told: String = "NULL::bigint"
    ) -> Statement {
        Statement(
            name, parameters: commonParameters + parameters,
            """
            WITH prior AS MATERIALIZED (
                SELECT CASE
                    WHEN (o.action, o.conversation_id, o.subject) IS NOT DISTINCT FROM ($6, $2, $7) THEN o.problem
                    ELSE \(Problem.Code.conflict.rawValue)
                END AS problem
                FROM store.outcomes o
                WHERE o.user_slot = $4 AND o.user_id = $3 AND o.key = $5[1]
                UNION ALL
                SELECT r.problem FROM store.recent_outcomes r WHERE r.slot = $1 AND r.request = $5[2]
            ), actor AS MATERIALIZED (
                SELECT count(*) > 0 AS was_member, coalesce(bool_or(s.left_seq IS NULL), false) AS is_member,
                    coalesce(bool_or(s.left_seq IS NULL AND s.role = 2), false) AS is_owner
                FROM store.memberships s
                WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
            ), \(facts) verdict AS MATERIALIZED (
                SELECT d.problem, d.is_repeat, d.problem = 0 AND NOT d.is_repeat AND NOT coalesce(\(isVoid), false) AS is_due
                FROM actor, LATERAL (
                    SELECT EXISTS (SELECT FROM prior) AS is_repeat, CASE
                        \(byErased ? "" : actorIsErased)
                        WHEN EXISTS (SELECT FROM prior) THEN (SELECT p.problem FROM prior p)
                        WHEN NOT actor.was_member THEN \(Problem.Code.notFound.rawValue)
                        \(byFormer ? actorIsMember : actorHasLeft)
                        \(problem)
                        ELSE 0
                    END AS problem
                ) d
            ), moved AS (
                UPDATE store.conversations c
                SET last_seq = c.last_seq + \(positions),
                    last_at = CASE WHEN \(positions) = 0 THEN c.last_at
                        ELSE greatest(\(ChangeTime.now), c.last_at) END\(sets)
                FROM verdict v
                WHERE c.slot = $1 AND c.id = $2 AND v.is_due
                RETURNING c.last_seq, c.last_at,
                    CASE WHEN \(positions) = 0 THEN \(ChangeTime.now) ELSE c.last_at END AS told_at
            ), kept AS (
                INSERT INTO store.outcomes (user_slot, user_id, key, action, conversation_id, subject, problem, at)
                SELECT $4, $3, $5[1], $6, $2, $7, v.problem, \(ChangeTime.now)
                FROM verdict v
                WHERE $5[1] IS NOT NULL AND NOT v.is_repeat AND v.problem <> \(Problem.Code.unauthenticated.rawValue)
            ), kept_awhile AS (
                INSERT INTO store.recent_outcomes (slot, request, problem, at)
                SELECT $1, $5[2], v.problem, \(ChangeTime.now) FROM verdict v
                WHERE $5[2] IS NOT NULL AND NOT v.is_repeat
            )\(effects)
            SELECT v.problem::smallint, v.is_repeat, v.is_due, moved.last_seq, moved.told_at, (\(positions))::bigint, \(useq), \(told)
            FROM verdict v LEFT JOIN moved ON true
            """)
    }

    /// A user whose data was erased leaves nothing new behind, not even an outcome.
    private static let actorIsErased = """
        WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = $4 AND e.user_id = $3)
            THEN \(Problem.Code.unauthenticated.rawValue)
        """

    private static let actorHasLeft = "WHEN NOT actor.is_member THEN \(Problem.Code.forbidden.rawValue)"
    private static let actorIsMember = "WHEN actor.is_member THEN \(Problem.Code.conflict.rawValue)"

    /// The message that a write names, if its actor may see it; `t` in conditions.
    static let visibleTarget = target(
        and: """
            AND NOT EXISTS (
                SELECT FROM store.hidden h
                WHERE h.slot = $1 AND h.conversation_id = $2 AND h.user_id = $3 AND h.seq = m.seq)
            """)

    /// The same, but includes messages that the actor has already hidden.
    static let target = target()

    private static func target(and condition: String = "") -> String {
        """
        target AS MATERIALIZED (
            SELECT m.* FROM store.messages m
            WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = $7 AND EXISTS (
                SELECT FROM store.memberships s
                WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
                  AND m.seq BETWEEN greatest(s.joined_seq, s.cleared_seq + 1) AND coalesce(s.left_seq, m.seq))
            \(condition)
        ),
        """
    }

    static let targetIsMissing = "WHEN NOT EXISTS (SELECT FROM target) THEN \(Problem.Code.notFound.rawValue)"

    /// A change of the conversation at its new position.
    static func change(_ kind: ChangeKind, columns: String = "", values: String = "", from: String = "moved") -> String
    {
        """
        , change AS (
            INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at\(columns))
            SELECT $1, $2, moved.last_seq, \(kind.rawValue), $3, moved.last_at\(values) FROM \(from)
        )
        """
    }

    /// The history message that shows a change of members or title.
    static let systemMessage = """
        , shown AS (
            INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, sent_at, created_at)
            SELECT $1, $2, moved.last_seq, gen_random_uuid(), moved.last_seq, $3, 3, moved.last_at, moved.last_at FROM moved
        )
        """

    /// A private change of one user, at the announced time. `values` are the conversation's message and position.
    /// `unlisted` is the number of conversations that left the user's list.
    static func told(
        _ kind: PrivateKind, user: String, userSlot: String, message: String, seq: String, unlisted: Int = 0
    ) -> String {
        """
        , stream AS (
            INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq)
            SELECT \(userSlot), \(user), 1 FROM moved
            ON CONFLICT (user_id, user_slot)
            DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = s.conversation_count - \(unlisted),
                unlisted_count = s.unlisted_count + \(unlisted)
            RETURNING last_useq
        ), told AS (
            INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, message_id, seq)
            SELECT \(userSlot), \(user), stream.last_useq, \(kind.rawValue),
                moved.told_at, $1, $2, \(message), \(seq)
            FROM stream, moved
        )
        """
    }

    static let toldUseq = "(SELECT stream.last_useq FROM stream)"

    /// The outcome of a write.
    struct Result {
        let problem: Problem.Code?
        /// The outcome belongs to an earlier request with this key.
        let isRepeat: Bool
        /// Set when something changed.
        let change: Change?

        struct Change {
            /// The conversation's position after the write, and the time of the write.
            let seq: Int64
            let at: Timestamp
            /// The number of positions, ending at `seq`, that the write took.
            let positions: Int64
            /// The new position of the notified private stream.
            let useq: Int64?
            /// The conversation position that the private change reports, or another value that the statement defines.
            let told: Int64?

            init(_ row: Row, _ columns: Columns) {
                seq = row[columns.seq]
                at = row[columns.at]
                positions = row[columns.positions]
                useq = row[columns.useq]
                told = row[columns.told]
            }
        }
    }

    /// The columns of {write_result}.
    struct Columns: NamedFields {
        let problem: Column<Int16>
        let isRepeat: Column<Bool>
        let isDue: Column<Bool>
        let seq: Column<Int64>
        let at: Column<Timestamp>
        let positions: Column<Int64>
        let useq: Column<Int64?>
        let told: Column<Int64?>
    }

    /// All writes return the same columns.
    static func decode(_ row: Row) -> Result {
        let columns = SetTapback.statement.columns
        return Result(
            problem: Problem.Code(rawValue: UInt8(row[columns.problem])), isRepeat: row[columns.isRepeat],
            change: row[columns.isDue] ? Result.Change(row, columns) : nil)
    }
}

// MARK: Statement of each action

extension WriteStatement {
    static let all = [
        MessageWrites.edit, MessageWrites.deleteForEveryone, MessageWrites.hide, SetTapback.statement.untyped,
        MessageWrites.removeTapback, ConversationWrites.putMember, ConversationWrites.removeMember,
        ConversationWrites.rename, ConversationWrites.clearHistory, ConversationWrites.unlist,
        SettingsStatement.putInConversation,
        FeedStatement.latest,
    ]

    /// Adds the write and, after it, a statement that reads its changes for the announcement.
    static func add(_ write: Write, _ request: RequestKey, _ limit: ConversationLimit, to batch: inout Batch) {
        if case .setTapback(_, let kind) = write.action {
            SetTapback.add(write, request, kind, to: &batch)
        } else {
            batch.execute(write.action.statement) { parameters in
                addCommon(write, request, to: &parameters)
                write.action.addFields(limit, to: &parameters)
            }
        }
        batch.execute(FeedStatement.latest) { parameters in
            parameters.add(write.conversation.slot)
            parameters.add(write.conversation)
        }
    }
}

extension Write.Action {
    fileprivate var statement: Statement {
        switch self {
        case .edit: MessageWrites.edit
        case .deleteForEveryone: MessageWrites.deleteForEveryone
        case .hide: MessageWrites.hide
        case .setTapback: SetTapback.statement.untyped
        case .removeTapback: MessageWrites.removeTapback
        case .putMember: ConversationWrites.putMember
        case .removeMember: ConversationWrites.removeMember
        case .rename: ConversationWrites.rename
        case .clearHistory: ConversationWrites.clearHistory
        case .unlist: ConversationWrites.unlist
        case .putSettings: SettingsStatement.putInConversation
        }
    }

    fileprivate func addFields(_ limit: ConversationLimit, to parameters: inout Parameters) {
        switch self {
        case .deleteForEveryone, .hide, .removeTapback: break
        case .unlist: parameters.add(limit.unlisted)
        case .edit(_, let text): parameters.add(text)
        case .setTapback(_, let kind): parameters.add(kind)
        case .putMember(let user, let role):
            parameters.add(user)
            parameters.add(user.slot)
            parameters.add(role.map { Int16($0.rawValue) })
            parameters.add(limit.whenAddedByOthers)
        case .removeMember(let user):
            parameters.add(user)
            parameters.add(user.slot)
        case .rename(let title): parameters.add(title)
        case .clearHistory(let through): parameters.add(through)
        case .putSettings(let readReceipts):
            parameters.add(readReceipts != .leave)
            parameters.add(readReceipts.value)
        }
    }
}

extension RequestKey {
    /// The form that the database stores.
    var uuid: UUIDBytes { UUIDBytes(high: origin.number, low: number.rawValue) }
}

extension Write {
    /// The user whose private stream reports the write.
    var toldPrivately: UserID? {
        switch action {
        case .hide, .clearHistory, .putSettings, .unlist: actor
        case .putMember(let user, _), .removeMember(let user): user
        case .edit, .deleteForEveryone, .setTapback, .removeTapback, .rename: nil
        }
    }
}

extension Write.Action {
    var answersWithoutBody: Bool {
        switch self {
        case .deleteForEveryone, .hide, .removeTapback, .removeMember, .clearHistory, .unlist: true
        case .edit, .setTapback, .putMember, .rename, .putSettings: false
        }
    }

    /// Whether a text is replaced or erased. The index has to follow.
    var changesText: Bool {
        switch self {
        case .edit, .deleteForEveryone: true
        default: false
        }
    }

    /// Distinguishes a repetition from another request under the same key.
    var subject: UUIDBytes? {
        switch self {
        case .putMember(let user, _), .removeMember(let user): UUIDBytes(hashOf: user.name)
        default: message?.uuid
        }
    }

    /// The message that the write concerns.
    var message: MessageID? {
        switch self {
        case .edit(let message, _), .deleteForEveryone(let message), .hide(let message), .setTapback(let message, _),
            .removeTapback(let message):
            message
        case .putMember, .removeMember, .rename, .clearHistory, .putSettings, .unlist: nil
        }
    }
}
