-- Deletes a message for everyone. It wins over whatever races it or comes later. Of a message that is not there yet it is
-- remembered; where those that are remembered for the user are too many, it is refused, and those whose message has come
-- are forgotten: a message that is there needs none. (Before there was a limit there may have been any number: no more than
-- twice as many are looked at.) Of attachments `media` is to be told: `detail` is how many messages lost theirs, or NULL.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       the message
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
target AS MATERIALIZED (
    SELECT m.seq, m.sender_id, m.kind, m.attachments, m.deleted_at, EXISTS (
        SELECT FROM store.memberships s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
          AND m.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, m.seq)) AS is_visible
    FROM store.messages m WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject
),
waiting AS MATERIALIZED (
    SELECT e.message_id FROM store.early_deletions e
    WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.user_id = :actor AND NOT EXISTS (SELECT FROM target)
    LIMIT 2 * {DeleteMessage.waitingLimit}
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat
            AND t.deleted_at IS NULL AS is_due
    FROM standing LEFT JOIN prior p ON true LEFT JOIN target t ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN (SELECT count(*) FROM waiting w WHERE NOT {early_deletion_has_come}) >= {DeleteMessage.waitingLimit} AND (
                SELECT true FROM store.early_deletions e
                WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.message_id = :subject
                  AND e.user_id = :actor) IS NULL THEN {Problem.conflict}
            WHEN t.sender_id <> :actor AND NOT t.is_visible THEN {Problem.notFound}
            WHEN t.sender_id <> :actor OR t.kind = {MessageKind.system} THEN {Problem.forbidden}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
-- A message that is not there yet has no position to take.
{move(positions => (SELECT count(*) FROM target))},
{keep_outcome},
early AS (
    INSERT INTO store.early_deletions (slot, conversation_id, message_id, user_id)
    SELECT :slot, :conversation, :subject, :actor FROM moved WHERE NOT EXISTS (SELECT FROM target)
    ON CONFLICT DO NOTHING
),
come AS (
    DELETE FROM store.early_deletions e USING moved, waiting w
    WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.message_id = w.message_id AND e.user_id = :actor
      AND {early_deletion_has_come}
),
erased AS (
    UPDATE store.messages m
    SET body = NULL, attachments = NULL, extra = NULL, pinned_seq = NULL, mentions = NULL, forwarded_by = NULL, tapback_count = 0,
        tapback_counts = NULL, deleted_at = moved.last_at,
        changed_seq = moved.last_seq
    FROM moved WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject
),
released AS (
    INSERT INTO store.media_releases (slot, conversation_id, message_id, sender_id, media)
    SELECT :slot, :conversation, :subject, t.sender_id, {media_of(row => t)} FROM moved, target t
    WHERE t.attachments IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING 1
),
no_revisions AS (
    DELETE FROM store.revisions r USING moved
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :subject
),
no_tapbacks AS (
    DELETE FROM store.tapbacks r USING moved
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :subject
),
no_poll AS (
    DELETE FROM store.polls r USING moved
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :subject
),
no_votes AS (
    DELETE FROM store.votes r USING moved
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :subject
),
unindexed AS (
    {unindexed(seqs => SELECT t.seq FROM target t CROSS JOIN moved)}
),
unindexed_before AS (
    {unindexed_before(seqs => SELECT t.seq FROM target t CROSS JOIN moved)}
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id, about_seq)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.messageDeleted}, :actor, moved.last_at, :subject, target.seq
    FROM moved, target
)
SELECT {write_result(positions => (SELECT count(*) FROM target), useq => NULL,
    detail => (SELECT nullif(count(*), 0) FROM released))}
FROM verdict v LEFT JOIN moved ON true
