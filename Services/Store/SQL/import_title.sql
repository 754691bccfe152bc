-- Imports a title that a conversation got. What happened earlier has taken its positions (import_messages).
--
-- :slot         smallint
-- :conversation uuid
-- :title        text
-- :at           timestamptz
-- :actor        text        NULL: the creator
--
-- > verdict smallint ImportVerdict
WITH {import_state},
verdict AS MATERIALIZED (
    SELECT coalesce((
        SELECT CASE
            WHEN :at <= state.last_at AND EXISTS (
                SELECT FROM store.changes h
                WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.kind = {ChangeKind.conversationRenamed}
                  AND h.at = :at AND h.title = :title) THEN {ImportVerdict.repeated}
            {import_refusals}
            WHEN state.kind = {ConversationKind.direct} THEN {ImportVerdict.isDirect}
            WHEN {is_imported_member(user => coalesce(:actor, state.creator_id))} THEN {ImportVerdict.stored}
            ELSE {ImportVerdict.isNoMember}
        END FROM state), {ImportVerdict.noImport}) AS outcome
),
moved AS (
    UPDATE store.conversations c SET last_seq = c.last_seq + 1, last_at = :at, title = :title
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.outcome = {ImportVerdict.stored}
    RETURNING c.last_seq, coalesce(:actor, c.creator_id) AS actor
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, title)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.conversationRenamed}, moved.actor, :at, :title FROM moved
),
shown AS (
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, sent_at, created_at)
    SELECT :slot, :conversation, moved.last_seq, gen_random_uuid(), moved.last_seq, moved.actor, {MessageKind.system}, :at, :at
    FROM moved
)
SELECT v.outcome::smallint AS verdict FROM verdict v
