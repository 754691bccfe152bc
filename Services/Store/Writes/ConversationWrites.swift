import Models
import Postgres
import Wire

/// Members, titles and clearing: their statements and permissions.
enum ConversationWrites {
    private static let conflict = Problem.Code.conflict.rawValue
    private static let forbidden = Problem.Code.forbidden.rawValue
    private static let notFound = Problem.Code.notFound.rawValue

    /// The maximum number of stays of one user in a conversation. Every `welcome` carries all of them.
    static let staysLimit = 100

    private static let conversation = """
        conversation AS MATERIALIZED (
            SELECT c.kind, c.last_seq, c.member_count FROM store.conversations c WHERE c.slot = $1 AND c.id = $2
        ),
        """

    private static let isDirect = "WHEN (SELECT c.kind = 2 FROM conversation c) THEN \(conflict)"

    /// The current stay of user $8.
    private static let stay = """
         stay AS MATERIALIZED (
            SELECT s.role FROM store.memberships s
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $8 AND s.left_seq IS NULL
        ),
        """

    /// The list of user $8: its size, and whether it holds the conversation. The user's stream is locked, so both
    /// values hold until the commit.
    private static let listing = """
         listing AS MATERIALIZED (
            SELECT coalesce(
                    (SELECT s.conversation_count FROM store.user_streams s WHERE s.user_slot = $9 AND s.user_id = $8),
                    (SELECT count(*) FROM store.inbox i
                     WHERE i.user_slot = $9 AND i.user_id = $8 AND \(Listing.isListed))::integer) AS count,
                (SELECT \(Listing.isListed) FROM store.inbox i
                 WHERE i.user_slot = $9 AND i.user_id = $8 AND i.conversation_id = $2) AS is_listed
        ),
        """

    /// Adds a member or changes a role. $8 user · $9 their slot · $10 role or NULL · $11 how many conversations others
    /// may put into a user's list. Any member adds members; owners add owners and change roles. A returning member
    /// takes no new place in the list. `told`: the number of members including the new one.
    static let putMember = WriteStatement.statement(
        "put_member", parameters: [.text, .int2, .int2, .int4], facts: conversation + stay + listing,
        problem: """
            \(isDirect)
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = $9 AND e.user_id = $8) THEN \(conflict)
            WHEN (SELECT l.is_listed IS NOT TRUE AND l.count >= $11 FROM listing l) THEN \(conflict)
            WHEN NOT EXISTS (SELECT FROM stay) AND (
                SELECT count(*) FROM (
                    SELECT FROM store.memberships s
                    WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $8 LIMIT \(staysLimit)) s) >= \(staysLimit)
                THEN \(conflict)
            WHEN NOT actor.is_owner AND coalesce($10 <> coalesce((SELECT s.role FROM stay s), 1), false) THEN \(forbidden)
            WHEN NOT EXISTS (SELECT FROM stay) AND (SELECT c.member_count >= \(ContractLimits.membersPerConversation) FROM conversation c)
                THEN \(Problem.Code.tooLarge.rawValue)
            """,
        isVoid: "(SELECT s.role = coalesce($10, s.role) FROM stay s)", positions: "1",
        sets: ", member_count = c.member_count + CASE WHEN EXISTS (SELECT FROM stay) THEN 0 ELSE 1 END",
        effects: """
            , joined AS (
                INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
                SELECT $1, $2, $8, moved.last_seq, coalesce($10, 1) FROM moved WHERE NOT EXISTS (SELECT FROM stay)
                RETURNING joined_seq
            ), listed AS (
                INSERT INTO store.inbox AS i (user_slot, user_id, conversation_id, slot)
                SELECT $9, $8, $2, $1 FROM joined
                ON CONFLICT (user_id, conversation_id, user_slot) DO UPDATE SET is_removed = false WHERE i.is_removed
            ), promoted AS (
                UPDATE store.memberships s SET role = $10 FROM moved
                WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $8 AND s.left_seq IS NULL
            ), change AS (
                INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id, role)
                SELECT $1, $2, moved.last_seq,
                    CASE WHEN EXISTS (SELECT FROM stay) THEN \(ChangeKind.memberChanged.rawValue)
                        ELSE \(ChangeKind.memberAdded.rawValue) END,
                    $3, moved.last_at, $8, coalesce($10, 1)
                FROM moved
            )\(WriteStatement.systemMessage), stream AS (
                INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq, conversation_count)
                SELECT $9, $8, 1, l.count + CASE WHEN l.is_listed THEN 0 ELSE 1 END FROM joined, listing l
                ON CONFLICT (user_id, user_slot)
                DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = excluded.conversation_count,
                    unlisted_count = s.unlisted_count - (SELECT CASE WHEN NOT l.is_listed THEN 1 ELSE 0 END FROM listing l)
                RETURNING last_useq
            ), told AS (
                INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
                SELECT $9, $8, stream.last_useq, \(PrivateKind.conversationJoined.rawValue), moved.last_at, $1, $2,
                    moved.last_seq - 1
                FROM stream, moved
            )
            """,
        useq: WriteStatement.toldUseq, told: "(SELECT c.member_count + 1 FROM conversation c)::bigint")

    /// Removes a member. $8 user · $9 their slot. Members leave, owners remove. When the last owner goes, the
    /// longest-standing member becomes owner, at a separate position after the removal.
    static let removeMember = removal("remove_member")

    /// - Parameter ofErased: the actor is an erased user who leaves, also from direct conversations.
    static func removal(_ name: String, ofErased: Bool = false) -> Statement {
        WriteStatement.statement(
            name, parameters: [.text, .int2], byErased: ofErased,
            facts: conversation + stay + """
                 heir AS MATERIALIZED (
                    SELECT s.user_id FROM store.memberships s
                    WHERE s.slot = $1 AND s.conversation_id = $2 AND s.left_seq IS NULL AND s.user_id <> $8
                      AND (SELECT leaver.role = 2 FROM stay leaver) AND NOT EXISTS (
                        SELECT FROM store.memberships o
                        WHERE o.slot = $1 AND o.conversation_id = $2 AND o.left_seq IS NULL AND o.role = 2 AND o.user_id <> $8)
                    ORDER BY s.joined_seq, s.user_id LIMIT 1
                ),
                """,
            problem: """
                \(ofErased ? "" : isDirect)
                WHEN $8 <> $3 AND NOT actor.is_owner THEN \(forbidden)
                WHEN NOT EXISTS (SELECT FROM store.memberships s
                                 WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $8) THEN \(notFound)
                """,
            isVoid: "NOT EXISTS (SELECT FROM stay)", positions: "(SELECT 1 + count(*) FROM heir)",
            sets: ", member_count = c.member_count - 1",
            effects: """
                , removal AS (
                    SELECT moved.last_seq - (SELECT count(*) FROM heir) AS seq, moved.last_at AS at FROM moved
                ), departed AS (
                    UPDATE store.memberships s SET left_seq = removal.seq FROM removal
                    WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $8 AND s.left_seq IS NULL
                ), inherited AS (
                    UPDATE store.memberships s SET role = 2 FROM heir, moved
                    WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = heir.user_id AND s.left_seq IS NULL
                ), shown AS (
                    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, sent_at, created_at)
                    SELECT $1, $2, p.seq, gen_random_uuid(), p.seq, $3, 3, p.at, p.at
                    FROM (SELECT seq, at FROM removal UNION ALL SELECT moved.last_seq, moved.last_at FROM moved, heir) p
                ), change AS (
                    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id, role, member_count)
                    SELECT $1, $2, seq, \(ChangeKind.memberRemoved.rawValue), $3, at, $8, (SELECT s.role FROM stay s),
                        (SELECT c.member_count - 1 FROM conversation c)
                    FROM removal
                    UNION ALL
                    SELECT $1, $2, moved.last_seq, \(ChangeKind.memberChanged.rawValue), $3, moved.last_at, heir.user_id, 2, NULL
                    FROM moved, heir
                )\(WriteStatement.told(
                .conversationLeft, user: "$8", userSlot: "$9", message: "NULL::uuid", seq: "(SELECT seq FROM removal)"))
                """,
            useq: WriteStatement.toldUseq)
    }

    /// Changes the title to $8. Any member may.
    static let rename = WriteStatement.statement(
        "rename_conversation", parameters: [.text], facts: conversation, problem: isDirect, isVoid: "false",
        positions: "1", sets: ", title = $8",
        effects: WriteStatement.change(.conversationRenamed, columns: ", title", values: ", $8")
            + WriteStatement.systemMessage)

    /// Clears history for the actor alone. $8 through (0: the latest position). The mark never moves back.
    static let clearHistory = WriteStatement.statement(
        "clear_history", parameters: [.int8],
        facts: conversation + """
             cleared AS MATERIALIZED (
                SELECT least(CASE WHEN $8 = 0 THEN c.last_seq ELSE $8 END, c.last_seq) AS through FROM conversation c
            ),
            """,
        problem: "",
        isVoid: """
            (SELECT max(s.cleared_seq) >= (SELECT through FROM cleared) FROM store.memberships s
             WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3)
            """,
        positions: "0",
        effects: """
            , clearing AS (
                UPDATE store.memberships s SET cleared_seq = greatest(s.cleared_seq, cleared.through) FROM moved, cleared
                WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
            )\(WriteStatement.told(
                .historyCleared, user: "$3", userSlot: "$4", message: "NULL::uuid", seq: "(SELECT through FROM cleared)"))
            """,
        useq: WriteStatement.toldUseq, told: "(SELECT through FROM cleared)")

    /// Removes a conversation that the actor has left from the actor's list, which frees its place there. $8 how many
    /// conversations a user may have removed.
    static let unlist = WriteStatement.statement(
        "unlist_conversation", parameters: [.int4], byFormer: true, facts: "",
        problem: """
            WHEN (SELECT s.unlisted_count >= $8 FROM store.user_streams s WHERE s.user_slot = $4 AND s.user_id = $3) AND (
                SELECT \(Listing.isListed) FROM store.inbox i
                WHERE i.user_slot = $4 AND i.user_id = $3 AND i.conversation_id = $2) THEN \(conflict)
            """,
        isVoid: """
            (SELECT i.is_removed FROM store.inbox i
             WHERE i.user_slot = $4 AND i.user_id = $3 AND i.conversation_id = $2)
            """,
        positions: "0",
        effects: """
            , unlisted AS (
                UPDATE store.inbox i SET is_removed = true FROM moved
                WHERE i.user_slot = $4 AND i.user_id = $3 AND i.conversation_id = $2
            )\(WriteStatement.told(
                .conversationRemoved, user: "$3", userSlot: "$4", message: "NULL::uuid", seq: "NULL::bigint", unlisted: 1))
            """,
        useq: WriteStatement.toldUseq)
}
