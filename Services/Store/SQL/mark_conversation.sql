-- Sets, or takes away, what a user keeps to themselves about a conversation: one mark. Former members keep marks, too.
-- `detail` is the position that the mark has: up to which the conversation is archived (0: it is not), also when it is muted,
-- or read by the user, when it is marked as unread.
--
-- The conversation's row does not change: nobody else can learn of it, not even by `sync`. Locks: the user's stream
-- (lock_streams), which the list of the user, and the number of pins in it, stands under.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       its value
-- :kind         smallint   PrivateKind
-- :until        timestamptz  of a mute, or NULL: none
-- :number       bigint     of any other mark: the order of a pin, the position up to which to archive, any number for a mark as
--                          unread; or NULL: none
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
-- What there is now, with the last position that the user may see and how far they have read.
present AS MATERIALIZED (
    SELECT i.muted_until, i.pin_order, i.archived_seq, i.marked_unread_seq,
        least(c.last_seq, {end_of_view(reader => :actor)}) AS last_seq,
        coalesce((
            SELECT h.read_seq FROM receipt.published_horizons h
            WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = :actor), 0) AS read_seq
    FROM store.inbox i
    JOIN store.conversations c ON c.slot = :slot AND c.id = :conversation
    WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation
),
marks AS MATERIALIZED (
    SELECT CASE WHEN :kind = {PrivateKind.muted} THEN :until ELSE p.muted_until END AS muted_until,
        CASE WHEN :kind = {PrivateKind.pinned} THEN :number ELSE p.pin_order END AS pin_order,
        CASE WHEN :kind = {PrivateKind.archived} AND :number IS NOT NULL THEN least(:number, p.last_seq)
            WHEN :kind = {PrivateKind.archived} THEN NULL
            -- Muting keeps a conversation in the archive, and does not bring back into it one that has come out.
            WHEN :kind = {PrivateKind.muted} AND (p.muted_until > {ChangeTime.now}) IS NOT TRUE AND EXISTS (
                SELECT FROM store.messages m
                WHERE m.slot = :slot AND m.conversation_id = :conversation
                  AND m.seq > p.archived_seq AND m.seq <= p.last_seq) THEN NULL
            ELSE p.archived_seq END AS archived_seq,
        CASE WHEN :kind = {PrivateKind.markedUnread} AND :number IS NOT NULL THEN p.read_seq
            WHEN :kind = {PrivateKind.markedUnread} THEN NULL
            ELSE p.marked_unread_seq END AS marked_unread_seq
    FROM present p
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND EXISTS (
            SELECT FROM present p, marks k
            WHERE (p.muted_until, p.pin_order, p.archived_seq, p.marked_unread_seq)
                IS DISTINCT FROM (k.muted_until, k.pin_order, k.archived_seq, k.marked_unread_seq)) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            -- What is not in the user's list has no place in it.
            WHEN NOT standing.is_member AND coalesce((
                SELECT i.is_removed FROM store.inbox i
                WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation
            ), true) THEN {Problem.conflict}
            WHEN :kind = {PrivateKind.pinned} AND :number IS NOT NULL AND (SELECT p.pin_order IS NULL FROM present p) AND (
                SELECT count(*) FROM store.inbox i
                WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.pin_order IS NOT NULL
            ) >= {ContractLimits.pinnedConversations} THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS (
    SELECT c.last_seq, {ChangeTime.now} AS announced_at FROM store.conversations c, verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due
),
{keep_outcome},
marked AS (
    UPDATE store.inbox i
    SET muted_until = k.muted_until, pin_order = k.pin_order, archived_seq = k.archived_seq,
        marked_unread_seq = k.marked_unread_seq
    FROM moved, marks k
    WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation
),
{tell_user(
    user => :actor, user_slot => :actor_slot, kind => :kind, message => NULL::uuid, seq => NULL::bigint, unlisted => 0,
    source => moved)}
SELECT {write_result(
    positions => 0, useq => (SELECT stream.last_useq FROM stream),
    detail => (
        SELECT CASE WHEN :kind = {PrivateKind.markedUnread} THEN p.read_seq ELSE coalesce(k.archived_seq, 0) END
        FROM present p, marks k))}
FROM verdict v LEFT JOIN moved ON true
