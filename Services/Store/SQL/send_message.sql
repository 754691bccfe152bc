-- Stores a run of one message that has nothing but a text, as most are while there is little to do. What
-- send_messages spends on starting its many nodes is most of a lone message's time; this one has half of them. It finds
-- what that one finds, under the same locks, and returns a row of the same columns.
--
-- :slot         smallint
-- :conversation uuid
-- :id           uuid
-- :sender       text
-- :text         text
-- :sent_at      timestamptz
--
-- > conversations  bigint[]
-- > bases          bigint[]
-- > times          timestamptz[]
-- > member_counts  integer[]
-- > refused_places bigint[]
-- > refusals       smallint[]
-- > deleted_places bigint[]
-- > reply_places   bigint[]
-- > parent_seqs    bigint[]
-- > parent_senders text[]
-- > parent_texts   text[]
WITH judged AS MATERIALIZED (
    SELECT is_deleted, role,
        CASE
            WHEN role IS NULL AND {is_imported_member(user => :sender)} THEN {SendVerdict.conversationIsImported}
            WHEN role IS NULL THEN {SendVerdict.unknownConversation}
            WHEN known IS NOT NULL THEN known
            WHEN role > 0 THEN {SendVerdict.stored}
            ELSE {SendVerdict.senderHasLeft}
        END AS outcome
    FROM (
        SELECT
            {presence_of_sender} AS role,
            (SELECT CASE
                WHEN k.sender_id <> :sender THEN {SendVerdict.idIsTaken}
                WHEN k.edited_at IS NULL AND k.deleted_at IS NULL
                    AND (k.body IS DISTINCT FROM :text OR k.reply_to IS NOT NULL OR k.mentions IS NOT NULL
                        OR k.attachments IS NOT NULL OR k.extra IS NOT NULL OR k.kind IN ({MessageKind.sealed}, {MessageKind.poll})
                        OR k.forward_of IS NOT NULL)
                    THEN {SendVerdict.idIsTaken}
                ELSE {SendVerdict.repeated} END
             FROM store.messages k
             WHERE k.slot = :slot AND k.conversation_id = :conversation AND k.id = :id) AS known,
            {was_deleted_early} AS is_deleted
        OFFSET 0
    ) m
),
{advance_by_one},
inserted AS (
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at, deleted_at)
    SELECT :slot, :conversation, last_seq, :id, last_seq, :sender, {MessageKind.text},
        CASE WHEN NOT is_deleted THEN :text END, :sent_at, last_at, CASE WHEN is_deleted THEN last_at END
    FROM advanced, judged
)
SELECT {result_of_one},
    '{}'::bigint[] AS reply_places, '{}'::bigint[] AS parent_seqs, '{}'::text[] AS parent_senders, '{}'::text[] AS parent_texts
FROM judged LEFT JOIN advanced a ON true
