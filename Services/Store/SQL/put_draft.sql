-- Keeps what a member has written in a conversation and not sent, in place of what was there, or drops it.
--
-- The conversation's row does not change: nobody else can learn of it, not even by `sync`. Locks: the user's stream
-- (lock_streams), which the list of the user, and the number of drafts in it, stands under.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       whether it is dropped
-- :text         text       or NULL: dropped
-- :reply_id     uuid       the message that it replies to, or NULL
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
present AS MATERIALIZED (
    SELECT i.draft_text, i.draft_reply_id FROM store.inbox i
    WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND EXISTS (
            SELECT FROM present p WHERE (p.draft_text, p.draft_reply_id) IS DISTINCT FROM (:text, :reply_id)) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN :text IS NOT NULL AND (SELECT p.draft_text IS NULL FROM present p) AND (
                SELECT count(*) FROM store.inbox i
                WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.has_draft
            ) >= {ContractLimits.draftsPerUser} THEN {Problem.conflict}
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
{tell_user(
    user => :actor, user_slot => :actor_slot, kind => {PrivateKind.draft}, message => NULL::uuid, seq => NULL::bigint,
    unlisted => 0, source => moved)},
drafted AS (
    UPDATE store.inbox i
    SET has_draft = :text IS NOT NULL, draft_text = :text, draft_reply_id = :reply_id,
        draft_at = CASE WHEN :text IS NOT NULL THEN moved.announced_at END,
        draft_useq = CASE WHEN :text IS NOT NULL THEN stream.last_useq END
    FROM moved, stream
    WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation
)
SELECT {write_result(positions => 0, useq => (SELECT stream.last_useq FROM stream), detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
