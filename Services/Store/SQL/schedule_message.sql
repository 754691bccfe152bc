-- Keeps a message until its time, in place of what was scheduled under its id.
--
-- Nobody else learns of it: the conversation's row does not change, and membership is all that is looked at. What decides whether it
-- is sent is looked at when it is. Locks: the user's stream (lock_streams), which what they have scheduled stands under.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]       see prior_outcome
-- :action       smallint
-- :subject      uuid         the message
-- :message      uuid
-- :due_at       timestamptz  or NULL: now
-- :text         text
-- :reply_id     uuid         the message that it replies to, or NULL
-- :mentions     text         user names with commas between them, before them {Mentions.everybody}; or NULL
-- :extra        text         JSON object, or NULL
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
present AS MATERIALIZED (
    SELECT s.* FROM store.scheduled s
    WHERE s.user_slot = :actor_slot AND s.user_id = :actor AND s.conversation_id = :conversation AND s.message_id = :message
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND NOT EXISTS (
            SELECT FROM present p WHERE p.problem IS NULL
                AND (p.at, p.body, p.reply_to, p.mentions, p.extra)
                    IS NOT DISTINCT FROM (:due_at, :text, :reply_id, :mentions, :extra)) AS is_due
    FROM (SELECT {ChangeTime.now} AS now) n CROSS JOIN standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN :due_at NOT BETWEEN n.now - {ContractLimits.scheduledBehind} AND n.now + {ContractLimits.scheduledAhead}
                THEN {Problem.invalid}
            WHEN EXISTS (
                SELECT FROM store.messages m
                WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message) THEN {Problem.conflict}
            WHEN NOT EXISTS (SELECT FROM present) AND (
                SELECT count(*) FROM store.scheduled s WHERE s.user_slot = :actor_slot AND s.user_id = :actor
            ) >= {ContractLimits.scheduledPerUser} THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS (
    SELECT 0::bigint AS last_seq, {ChangeTime.now} AS announced_at FROM verdict v WHERE v.is_due
),
{keep_outcome},
{tell_user(
    user => :actor, user_slot => :actor_slot, kind => {PrivateKind.scheduled}, message => :message, seq => NULL::bigint,
    unlisted => 0, source => moved)},
scheduled AS (
    INSERT INTO store.scheduled AS s (user_slot, user_id, conversation_id, message_id, at, body, reply_to, mentions, extra, useq)
    SELECT :actor_slot, :actor, :conversation, :message, coalesce(:due_at, moved.announced_at), :text, :reply_id, :mentions, :extra,
        stream.last_useq
    FROM moved, stream
    ON CONFLICT (user_id, conversation_id, message_id, user_slot) DO UPDATE
    SET at = excluded.at, body = excluded.body, reply_to = excluded.reply_to, mentions = excluded.mentions,
        extra = excluded.extra, useq = excluded.useq, problem = NULL, failed_at = NULL
    RETURNING s.at
)
SELECT {write_result(
    positions => 0, useq => (SELECT stream.last_useq FROM stream),
    detail => (SELECT (extract(epoch FROM s.at) * 1000)::bigint FROM scheduled s))}
FROM verdict v LEFT JOIN moved ON true
