-- Imports that a poll was closed. What happened earlier has taken its positions (import_messages).
--
-- :slot         smallint
-- :conversation uuid
-- :message      uuid
-- :at           timestamptz
-- :actor        text        NULL: its sender
--
-- > verdict smallint ImportVerdict
WITH {import_state},
target AS MATERIALIZED (
    SELECT m.sender_id, m.deleted_at FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message AND m.kind <> {MessageKind.system}
),
{poll_of_target(subject => :message)},
verdict AS MATERIALIZED (
    SELECT coalesce((
        SELECT CASE
            WHEN EXISTS (SELECT FROM poll k WHERE k.closed_seq IS NOT NULL) THEN {ImportVerdict.repeated}
            -- A deletion takes it with the poll.
            WHEN EXISTS (SELECT FROM target t WHERE t.deleted_at >= :at) AND :at <= state.last_at
                THEN {ImportVerdict.repeated}
            {import_refusals}
            WHEN NOT EXISTS (SELECT FROM target) THEN {ImportVerdict.unknownMessage}
            WHEN EXISTS (SELECT FROM target t WHERE t.deleted_at IS NOT NULL) THEN {ImportVerdict.isDeleted}
            WHEN NOT EXISTS (SELECT FROM poll) THEN {ImportVerdict.isNoPoll}
            WHEN {is_imported_member(user => coalesce(:actor, (SELECT t.sender_id FROM target t)))}
                THEN {ImportVerdict.stored}
            ELSE {ImportVerdict.isNoMember}
        END FROM state), {ImportVerdict.noImport}) AS outcome
),
moved AS (
    UPDATE store.conversations c SET last_seq = c.last_seq + 1, last_at = :at
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.outcome = {ImportVerdict.stored}
    RETURNING c.last_seq
),
closed AS (
    UPDATE store.polls p SET closed_seq = moved.last_seq, closed_at = :at
    FROM moved WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.message_id = :message
),
changed AS (
    UPDATE store.messages m SET changed_seq = moved.last_seq
    FROM moved WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.pollClosed}, coalesce(:actor, t.sender_id), :at, :message
    FROM moved, target t
)
SELECT v.outcome::smallint AS verdict FROM verdict v
