-- Imports a user's tapback on a message. The last one of a user stands. What happened earlier has taken its positions
-- (import_messages).
--
-- :slot         smallint
-- :conversation uuid
-- :message      uuid
-- :user         text
-- :kind         text
-- :at           timestamptz
--
-- > verdict smallint ImportVerdict
WITH {import_state},
{import_target},
present AS MATERIALIZED (
    SELECT r.kind, r.at FROM store.tapbacks r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :message AND r.user_id = :user
),
verdict AS MATERIALIZED (
    SELECT coalesce((
        SELECT CASE
            -- The same one, or one that another replaced. Of several at one time the first stands.
            WHEN EXISTS (SELECT FROM present p WHERE p.at >= :at) THEN {ImportVerdict.repeated}
            {import_target_refusals}
            {import_reader_refusals}
            ELSE {ImportVerdict.stored}
        END FROM state), {ImportVerdict.noImport}) AS outcome
),
{import_position},
tapback AS (
    INSERT INTO store.tapbacks (slot, conversation_id, message_id, user_id, kind, at, seq)
    SELECT :slot, :conversation, :message, :user, :kind, :at, moved.last_seq FROM moved
    ON CONFLICT (conversation_id, message_id, user_id, slot)
    DO UPDATE SET kind = excluded.kind, at = excluded.at, seq = excluded.seq
),
counted AS (
    UPDATE store.messages m
    SET {tapbacks_counted(kind => :kind, added => (p.kind IS NULL)::integer, seq => moved.last_seq)}
    FROM moved CROSS JOIN target t LEFT JOIN present p ON true
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq = t.seq
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.tapbackSet}, :user, :at, :message FROM moved
)
SELECT v.outcome::smallint AS verdict FROM verdict v
