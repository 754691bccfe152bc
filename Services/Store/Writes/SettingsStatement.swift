import Models
import Postgres
import Slots
import Wire

/// Settings of users, in general and for one conversation.
enum SettingsStatement {
    /// Stores a user's own settings. Returns the outcome of the request and, if something changed, the settings and the
    /// position on the private stream. An existing row is changed under its lock, so two devices that set different
    /// settings at once both succeed. A repetition locks the outcome, which is a write. Its commit, and therefore the
    /// response, waits for a synchronous standby as the first one did.
    ///
    /// $1 user · $2 their slot · $3 key or request (see `WriteStatement`) · $4 read receipts · $5 presence (NULL:
    /// unchanged).
    static let put = Statement(
        "put_settings", parameters: [.text, .int2, .array(.uuid), .bool, .bool],
        """
        WITH prior AS MATERIALIZED (
            SELECT CASE WHEN o.action = \(PutSettings.number) THEN o.problem
                ELSE \(Problem.Code.conflict.rawValue) END::smallint AS problem
            FROM (
                SELECT * FROM store.outcomes WHERE user_slot = $2 AND user_id = $1 AND key = $3[1] FOR NO KEY UPDATE
            ) o
            WHERE NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = $2 AND e.user_id = $1)
            UNION ALL
            SELECT r.problem FROM store.recent_outcomes r
            WHERE r.slot = $2 AND r.request = $3[2]
              AND NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = $2 AND e.user_id = $1)
            UNION ALL
            SELECT \(Problem.Code.unauthenticated.rawValue)::smallint FROM store.erasures e
            WHERE e.user_slot = $2 AND e.user_id = $1
        ), kept AS (
            INSERT INTO store.outcomes (user_slot, user_id, key, action, conversation_id, problem, at)
            SELECT $2, $1, $3[1], \(PutSettings.number), '00000000-0000-0000-0000-000000000000', 0,
                \(ChangeTime.now)
            WHERE $3[1] IS NOT NULL AND NOT EXISTS (SELECT FROM prior)
        ), kept_awhile AS (
            INSERT INTO store.recent_outcomes (slot, request, problem, at)
            SELECT $2, $3[2], 0, \(ChangeTime.now) WHERE $3[2] IS NOT NULL AND NOT EXISTS (SELECT FROM prior)
        ), changed AS (
            INSERT INTO store.user_settings AS s (user_slot, user_id, read_receipts, presence)
            SELECT $2, $1, coalesce($4, true), coalesce($5, true)
            WHERE NOT EXISTS (SELECT FROM prior)
              AND (NOT coalesce($4, true) OR NOT coalesce($5, true)
                   OR EXISTS (SELECT FROM store.user_settings u WHERE u.user_slot = $2 AND u.user_id = $1))
            ON CONFLICT (user_id, user_slot) DO UPDATE
            SET read_receipts = coalesce($4, s.read_receipts), presence = coalesce($5, s.presence)
            WHERE (coalesce($4, s.read_receipts), coalesce($5, s.presence)) <> (s.read_receipts, s.presence)
            RETURNING read_receipts, presence
        ), stream AS (
            INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq)
            SELECT $2, $1, 1 FROM changed
            ON CONFLICT (user_id, user_slot) DO UPDATE SET last_useq = s.last_useq + 1
            RETURNING last_useq, \(ChangeTime.now) AS at
        ), told AS (
            INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at)
            SELECT $2, $1, last_useq, \(PrivateKind.settingsChanged.rawValue), at FROM stream
        )
        SELECT coalesce((SELECT problem FROM prior), 0::smallint), changed.read_receipts, changed.presence,
            stream.last_useq, stream.at
        FROM (VALUES (1)) one LEFT JOIN changed ON true LEFT JOIN stream ON true
        """)

    static func add(_ command: PutSettings, _ request: RequestKey, to batch: inout Batch) {
        batch.execute(put) { parameters in
            parameters.add(command.user)
            parameters.add(command.user.slot)
            parameters.addArray(of: .uuid)
            for name in WriteStatement.knownBy(command.key, request) { parameters.append(name) }
            parameters.add(command.readReceipts.valueForUser)
            parameters.add(command.presence.valueForUser)
        }
    }

    /// The outcome of a `PutSettings`.
    struct Result {
        let problem: Problem.Code?
        /// Set when something changed.
        let change: Change?

        struct Change {
            let settings: UserSettings
            let useq: Int64
            let at: Timestamp
        }
    }

    static func decode(_ row: Row) -> Result {
        let problem: Int16 = row[0]
        return Result(
            problem: Problem.Code(rawValue: UInt8(problem)),
            change: row.isNull(3)
                ? nil : Result.Change(settings: UserSettings(row, 1), useq: row[3], at: row[4]))
    }

    // MARK: Queries

    /// Returns exactly one row.
    static let ofUser = Statement(
        "settings", parameters: [.text, .int2],
        """
        SELECT coalesce(s.read_receipts, true), coalesce(s.presence, true)
        FROM (VALUES (1)) one LEFT JOIN store.user_settings s ON s.user_slot = $2 AND s.user_id = $1
        """)

    /// Returns no row for a user who never was a member.
    static let inConversation = Statement(
        "conversation_settings", parameters: [.int2, .uuid, .text, .int2],
        """
        SELECT coalesce(
                s.read_receipts,
                (SELECT u.read_receipts FROM store.user_settings u WHERE u.user_slot = $4 AND u.user_id = $3), true),
            s.read_receipts IS NULL
        FROM (VALUES (1)) one
        LEFT JOIN store.conversation_settings s ON s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
        WHERE EXISTS (SELECT FROM store.memberships m WHERE m.slot = $1 AND m.conversation_id = $2 AND m.user_id = $3)
        """)
}

extension SettingChange {
    /// A user's own settings inherit only from the default.
    fileprivate var valueForUser: Bool? { self == .inherit ? true : value }
}
