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
target AS MATERIALIZED (
    SELECT m.seq, m.deleted_at FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message AND m.kind <> {MessageKind.system}
),
present AS MATERIALIZED (
    SELECT r.kind, r.at FROM store.tapbacks r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :message AND r.user_id = :user
),
verdict AS MATERIALIZED (
    SELECT coalesce((
        SELECT CASE
            -- The same one, or one that another replaced. Of several at one time the first stands.
            WHEN EXISTS (SELECT FROM present p WHERE p.at >= :at) THEN {ImportVerdict.repeated}
            -- A deletion takes the tapbacks of before with it.
            WHEN EXISTS (SELECT FROM target t WHERE t.deleted_at >= :at) AND :at <= state.last_at
                THEN {ImportVerdict.repeated}
            {import_refusals}
            WHEN NOT EXISTS (SELECT FROM target) THEN {ImportVerdict.unknownMessage}
            WHEN EXISTS (SELECT FROM target t WHERE t.deleted_at IS NOT NULL) THEN {ImportVerdict.isDeleted}
            WHEN (SELECT true FROM store.import_stays p
                  WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.user_id = :user
                    AND p.left_seq IS NULL) IS NULL THEN {ImportVerdict.isNoMember}
            WHEN (SELECT true FROM store.import_stays p, target t
                  WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.user_id = :user
                    AND t.seq BETWEEN p.joined_seq AND coalesce(p.left_seq, t.seq) LIMIT 1) IS NULL
                THEN {ImportVerdict.unknownMessage}
            ELSE {ImportVerdict.stored}
        END FROM state), {ImportVerdict.noImport}) AS outcome
),
moved AS (
    UPDATE store.conversations c SET last_seq = c.last_seq + 1, last_at = :at
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.outcome = {ImportVerdict.stored}
    RETURNING c.last_seq
),
tapback AS (
    INSERT INTO store.tapbacks (slot, conversation_id, message_id, user_id, kind, at, seq)
    SELECT :slot, :conversation, :message, :user, :kind, :at, moved.last_seq FROM moved
    ON CONFLICT (conversation_id, message_id, user_id, slot)
    DO UPDATE SET kind = excluded.kind, at = excluded.at, seq = excluded.seq
),
counted AS (
    UPDATE store.messages m
    SET changed_seq = moved.last_seq,
        tapback_count = m.tapback_count + CASE WHEN EXISTS (SELECT FROM present) THEN 0 ELSE 1 END
    FROM moved, target t WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq = t.seq
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.tapbackSet}, :user, :at, :message FROM moved
)
SELECT v.outcome::smallint AS verdict FROM verdict v
