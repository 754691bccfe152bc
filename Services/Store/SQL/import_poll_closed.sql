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
{import_target},
{poll_of_target(subject => :message)},
verdict AS MATERIALIZED (
    SELECT coalesce((
        SELECT CASE
            WHEN EXISTS (SELECT FROM poll k WHERE k.closed_seq IS NOT NULL) THEN {ImportVerdict.repeated}
            {import_target_refusals}
            WHEN NOT EXISTS (SELECT FROM poll) THEN {ImportVerdict.isNoPoll}
            WHEN {is_imported_member(user => coalesce(:actor, (SELECT t.sender_id FROM target t)))}
                THEN {ImportVerdict.stored}
            ELSE {ImportVerdict.isNoMember}
        END FROM state), {ImportVerdict.noImport}) AS outcome
),
{import_position},
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
