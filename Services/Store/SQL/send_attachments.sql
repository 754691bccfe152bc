-- Stores a run of one message with attachments, of one poll, or of one that is forwarded. It finds what send_messages finds, under the same
-- locks, and returns a row of the same columns. A statement of their own keeps them out of the path of all other messages.
--
-- A repetition of what was forwarded is known by what it names, whatever became of that: it comes even where there is nothing to
-- forward any more, with the verdict on that.
--
-- :slot                smallint
-- :conversation        uuid
-- :id                  uuid
-- :sender              text
-- :text                text        empty: none
-- :sent_at             timestamptz
-- :parent              uuid        or NULL
-- :mentions            text        user names with commas between them, before them {Mentions.everybody}; or NULL
-- :media               text        the ids of the files with commas between them; NULL: it carries none
-- :attachments         text        JSON array; NULL beside files: not every file is there, which is no matter for a repetition
-- :extra               text        JSON object, or NULL
-- :is_sealed           boolean
-- :options             text[]      of a poll; of any other message empty
-- :is_multiple         boolean
-- :forward_of          text        what a forwarded message names, or NULL
-- :source_verdict      smallint    SendVerdict, if that cannot be forwarded, or NULL
-- :forwarded_by        text        who wrote it, or NULL
-- :forwarded_by_slot   smallint    as well
-- :forwarded_at        timestamptz as well
-- :answers_attachments boolean     whether what carries attachments may be replied to
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
WITH parent AS MATERIALIZED (
    SELECT p.seq, p.sender_id, CASE WHEN s.cleared_seq < p.seq AND (
        SELECT true FROM store.hidden d
        WHERE d.slot = :slot AND d.conversation_id = :conversation AND d.user_id = :sender AND d.seq = p.seq) IS NULL
        THEN {shown_text(row => p, text => p.body)} END AS body
    FROM store.messages p CROSS JOIN LATERAL (
        SELECT s.cleared_seq FROM store.memberships s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :sender
          AND p.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, p.seq)
        LIMIT 1
    ) s
    WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.id = :parent
      AND p.kind IN ({MessageKind.text}, {MessageKind.reply}, {MessageKind.poll}) AND p.deleted_at IS NULL
      AND (p.attachments IS NULL OR :answers_attachments)
),
judged AS MATERIALIZED (
    SELECT is_deleted, role,
        CASE
            WHEN role IS NULL AND {is_imported_member(user => :sender)} THEN {SendVerdict.conversationIsImported}
            WHEN role IS NULL THEN {SendVerdict.unknownConversation}
            WHEN known IS NOT NULL THEN known
            WHEN role = 0 THEN {SendVerdict.senderHasLeft}
            WHEN :parent IS NOT NULL AND NOT EXISTS (SELECT FROM parent) THEN {SendVerdict.notReplyable}
            WHEN left(:mentions, 1) = {Mentions.everybody}
                AND {may_mention_all} IS NOT TRUE
                THEN {SendVerdict.mayNotMentionAll}
            WHEN :source_verdict IS NOT NULL THEN :source_verdict
            -- A moment later it is known without the name.
            WHEN EXISTS (
                SELECT FROM store.erasures e WHERE e.user_slot = :forwarded_by_slot AND e.user_id = :forwarded_by)
                THEN {SendVerdict.originIsErased}
            WHEN :media IS NOT NULL AND :attachments IS NULL AND NOT is_deleted THEN {SendVerdict.fileIsMissing}
            ELSE {SendVerdict.stored}
        END AS outcome
    FROM (
        SELECT
            {presence_of_sender} AS role,
            (SELECT CASE
                WHEN k.sender_id <> :sender OR k.forward_of IS DISTINCT FROM {forward_digest} THEN {SendVerdict.idIsTaken}
                WHEN :forward_of IS NULL AND k.edited_at IS NULL AND k.deleted_at IS NULL
                    AND (k.body, k.reply_to, array_to_string(k.mentions, ','), {media_of(row => k)}, k.extra,
                            k.kind = {MessageKind.sealed}, (
                                SELECT (l.options, l.is_multiple) IS NOT DISTINCT FROM (:options, :is_multiple)
                                FROM store.polls l
                                WHERE l.slot = :slot AND l.conversation_id = :conversation AND l.message_id = :id))
                        IS DISTINCT FROM (
                            :text, :parent, :mentions, :media, :extra, :is_sealed,
                            CASE WHEN cardinality(:options) > 0 THEN true END)
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
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, reply_to, reply_seq, mentions, attachments, extra, sent_at, created_at, deleted_at, forwarded_by, forwarded_at, forward_of)
    SELECT :slot, :conversation, last_seq, :id, last_seq, :sender,
        CASE WHEN cardinality(:options) > 0 THEN {MessageKind.poll} WHEN :is_sealed THEN {MessageKind.sealed} WHEN :parent IS NULL THEN {MessageKind.text} ELSE {MessageKind.reply} END,
        CASE WHEN NOT is_deleted THEN :text END, :parent, (SELECT seq FROM parent),
        CASE WHEN NOT is_deleted THEN string_to_array(:mentions, ',') END, CASE WHEN NOT is_deleted THEN :attachments END,
        CASE WHEN NOT is_deleted THEN :extra END, :sent_at, last_at, CASE WHEN is_deleted THEN last_at END,
        CASE WHEN NOT is_deleted THEN :forwarded_by END, :forwarded_at, {forward_digest}
    FROM advanced, judged
),
poll AS (
    INSERT INTO store.polls (slot, conversation_id, message_id, options, is_multiple, counts, voters)
    SELECT :slot, :conversation, :id, :options, :is_multiple, array_fill(0, ARRAY[cardinality(:options)]), 0 FROM advanced, judged
    WHERE cardinality(:options) > 0 AND NOT is_deleted
),
-- What was deleted before it came carries nothing.
released AS (
    INSERT INTO store.media_releases (slot, conversation_id, message_id, sender_id, media)
    SELECT :slot, :conversation, :id, :sender, :media FROM advanced, judged WHERE is_deleted AND :media IS NOT NULL
    ON CONFLICT DO NOTHING
)
SELECT {result_of_one},
    CASE WHEN p.seq IS NULL THEN '{}' ELSE '{1}' END::bigint[] AS reply_places,
    CASE WHEN p.seq IS NULL THEN '{}' ELSE ARRAY[p.seq] END AS parent_seqs,
    CASE WHEN p.seq IS NULL THEN '{}' ELSE ARRAY[p.sender_id] END AS parent_senders,
    CASE WHEN p.seq IS NULL THEN '{}' ELSE ARRAY[coalesce(p.body, '')] END AS parent_texts
FROM judged LEFT JOIN advanced a ON true LEFT JOIN parent p ON true
