-- Imports a user's vote in a poll. The last one of a user stands. What happened earlier has taken its positions
-- (import_messages).
--
-- :slot         smallint
-- :conversation uuid
-- :message      uuid
-- :user         text
-- :options      smallint    a bit for each, one at least
-- :at           timestamptz
--
-- > verdict smallint ImportVerdict
WITH {import_state},
{import_target},
{poll_of_target(subject => :message)},
present AS MATERIALIZED (
    SELECT coalesce(max(v.options), 0::smallint) AS options, max(v.at) AS at FROM store.votes v
    WHERE v.slot = :slot AND v.conversation_id = :conversation AND v.message_id = :message AND v.user_id = :user
),
verdict AS MATERIALIZED (
    SELECT coalesce((
        SELECT CASE
            -- The same one, or one that another replaced. Of several at one time the first stands.
            WHEN (SELECT p.at >= :at FROM present p) THEN {ImportVerdict.repeated}
            {import_target_refusals}
            WHEN NOT EXISTS (SELECT FROM poll) THEN {ImportVerdict.isNoPoll}
            {import_reader_refusals}
            WHEN EXISTS (SELECT FROM poll k WHERE k.closed_seq IS NOT NULL) THEN {ImportVerdict.pollIsClosed}
            WHEN EXISTS (
                SELECT FROM poll k
                WHERE (:options::integer >> k.count) > 0 OR NOT k.is_multiple AND (:options & (:options - 1)) <> 0)
                THEN {ImportVerdict.noSuchOptions}
            ELSE {ImportVerdict.stored}
        END FROM state), {ImportVerdict.noImport}) AS outcome
),
{import_position},
vote AS (
    INSERT INTO store.votes (slot, conversation_id, message_id, user_id, options, at, seq)
    SELECT :slot, :conversation, :message, :user, :options, :at, moved.last_seq FROM moved
    ON CONFLICT (conversation_id, message_id, user_id, slot)
    DO UPDATE SET options = excluded.options, at = excluded.at, seq = excluded.seq
),
counted AS (
    {count_vote(subject => :message)}
),
changed AS (
    UPDATE store.messages m SET changed_seq = moved.last_seq
    FROM moved WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.pollVoted}, :user, :at, :message FROM moved
)
SELECT v.outcome::smallint AS verdict FROM verdict v
