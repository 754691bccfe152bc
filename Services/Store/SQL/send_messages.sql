-- Stores a run of messages without attachments: finds repetitions, checks membership and parents, gives each new message the next `seq` of
-- its conversation, and tells what became of all of them.
--
-- PostgreSQL spends its time here on index lookups, on carrying rows from node to node, and on columns; so the statement
-- asks once for what messages share, and has next to no rows. `SendLayout` gives conversations, streams (one sender in one
-- conversation) and messages as arrays that refer to each other by subscripts, and the statement continues like that: a
-- subscript costs a hundredth of a lookup, and needs no join, which a generic plan, expecting one row from every array,
-- would make a nested loop over hundreds. Tables are probed by scalar subqueries, which stay index lookups. (An EXISTS may
-- become a hash of the whole table.) OFFSET 0 keeps a subquery from being merged into the one around it, which would
-- compute its columns anew wherever they are named.
--
-- Messages of a conversation stand side by side. So a position is the base of its conversation, plus the message's place,
-- less those before it that were refused; `width_bucket` counts these by binary search in their sorted places, and finds
-- a conversation among those that have advanced. What is returned is one row, of arrays. Places and subscripts count
-- from 1.
--
-- Locks: the conversations are locked before (lock_conversations), so nothing that is found here can change until the
-- commit, and the UPDATE waits for nobody.
--
-- Conversations
-- :slots                smallint[]
-- :conversations        uuid[]
-- :ends                 bigint[]       the place of the last message of each
-- Streams
-- :stream_conversations integer[]      subscripts of conversations
-- :senders              text[]
-- Messages
-- :streams              integer[]      subscripts of streams
-- :ids                  uuid[]
-- :texts                text[]
-- :sent_times           timestamptz[]
-- What few messages have
-- :reply_places         bigint[]       places, ascending
-- :parents              uuid[]
-- :mention_places       bigint[]       places, ascending
-- :mention_lists        text[]         user names with commas between them; before them {Mentions.everybody}
-- :extra_places         bigint[]       places, ascending
-- :extras               text[]         JSON objects
-- :sealed_places        bigint[]       places, ascending
-- Of the deployment
-- :answers_attachments  boolean        whether what carries attachments may be replied to
--
-- Conversations that something was stored in
-- > conversations       bigint[]       subscripts, ascending
-- > bases               bigint[]       their positions before
-- > times               timestamptz[]
-- > member_counts       integer[]
-- Messages that were not stored
-- > refused_places      bigint[]       ascending
-- > refusals            smallint[]     SendVerdict
-- Messages that were deleted for everyone before they came
-- > deleted_places      bigint[]       ascending
-- Replies
-- > reply_places        bigint[]
-- > parent_seqs         bigint[]
-- > parent_senders      text[]
-- > parent_texts        text[]         empty where the sender of the reply hid or cleared the parent
WITH
-- Whether each sender is a member, by the latest stay, and may write, and whether anything was deleted in the conversation before
-- it came. Where not every member may write there is a row of nobody among these deletions (set_permissions), so only there the
-- permissions are looked up.
streams AS MATERIALIZED (
    SELECT array_agg(coalesce((
            SELECT CASE
                WHEN s.left_seq IS NOT NULL THEN {SendVerdict.senderHasLeft}
                WHEN t.is_looked_into AND (
                    SELECT NOT {is_permitted(permissions => c.permissions, bits => {GroupPermissions.write}, role => s.role)}
                    FROM store.conversations c WHERE c.slot = :slots[t.c] AND c.id = :conversations[t.c]
                ) THEN {SendVerdict.mayNotWrite}
                ELSE {SendVerdict.stored} END
            FROM store.memberships s
            WHERE s.slot = :slots[t.c] AND s.conversation_id = :conversations[t.c] AND s.user_id = t.sender_id
            ORDER BY s.joined_seq DESC LIMIT 1),
            CASE WHEN {is_imported_member(
                slot => :slots[t.c], conversation => :conversations[t.c], user => t.sender_id)}
                THEN {SendVerdict.conversationIsImported} END,
            {SendVerdict.unknownConversation})) AS standings,
        array_agg(t.is_looked_into) AS deleted_early
    FROM (
        SELECT t.*, (
            SELECT true FROM store.early_deletions e
            WHERE e.slot = :slots[t.c] AND e.conversation_id = :conversations[t.c] LIMIT 1) IS NOT NULL AS is_looked_into
        FROM unnest(:stream_conversations, :senders) AS t(c, sender_id)
        OFFSET 0
    ) t
),
-- Parents that may be replied to: texts and replies, not deleted, within a stay of the sender. Who hid or cleared one may
-- still reply to it; its text is not brought to them.
replies AS MATERIALIZED (
    SELECT coalesce(array_agg(ordinal), '{}') AS ordinals, coalesce(array_agg(coalesce(p.seq, 0)), '{}') AS seqs,
        coalesce(array_agg(coalesce(p.sender_id, '')), '{}') AS senders, coalesce(array_agg(coalesce(p.body, '')), '{}') AS bodies
    FROM (
        SELECT r.*, :stream_conversations[:streams[r.ordinal]] AS c, :senders[:streams[r.ordinal]] AS sender_id
        FROM unnest(:reply_places, :parents) AS r(ordinal, reply_to)
        OFFSET 0
    ) r LEFT JOIN LATERAL (
        SELECT p.seq, p.sender_id, CASE WHEN s.cleared_seq < p.seq AND (
            SELECT true FROM store.hidden d
            WHERE d.slot = :slots[r.c] AND d.conversation_id = :conversations[r.c] AND d.user_id = r.sender_id
              AND d.seq = p.seq) IS NULL THEN {shown_text(row => p, text => p.body)} END AS body
        FROM store.messages p CROSS JOIN LATERAL (
            SELECT s.cleared_seq FROM store.memberships s
            WHERE s.slot = :slots[r.c] AND s.conversation_id = :conversations[r.c] AND s.user_id = r.sender_id
              AND p.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, p.seq)
            LIMIT 1
        ) s
        WHERE p.slot = :slots[r.c] AND p.conversation_id = :conversations[r.c] AND p.id = r.reply_to
          AND p.kind IN ({MessageKind.text}, {MessageKind.reply}, {MessageKind.poll}) AND p.deleted_at IS NULL
          AND (p.attachments IS NULL OR :answers_attachments)
    ) p ON true
),
-- What is to become of each message.
judged AS MATERIALIZED (
    SELECT *,
        CASE
            WHEN standing IN ({SendVerdict.unknownConversation}, {SendVerdict.conversationIsImported}) THEN standing
            WHEN known IS NOT NULL THEN known
            WHEN standing IN ({SendVerdict.senderHasLeft}, {SendVerdict.mayNotWrite}) THEN standing
            WHEN reply_seq = 0 THEN {SendVerdict.notReplyable}
            WHEN left(mentions, 1) = {Mentions.everybody} AND {may_mention_all(
                slot => m.slot, conversation => m.conversation_id, sender => :senders[m.stream])} IS NOT TRUE
                THEN {SendVerdict.mayNotMentionAll}
            ELSE {SendVerdict.stored}
        END AS outcome
    FROM (
        SELECT m.*,
            (SELECT standings FROM streams)[stream] AS standing,
            -- A message with this id: the same one, unless it is another's or says something else. What was edited or
            -- deleted since cannot be compared.
            (SELECT CASE
                WHEN k.sender_id <> :senders[m.stream] THEN {SendVerdict.idIsTaken}
                WHEN k.edited_at IS NULL AND k.deleted_at IS NULL
                    AND ((k.body, k.reply_to, array_to_string(k.mentions, ','), k.extra, k.kind = {MessageKind.sealed},
                            k.kind = {MessageKind.poll})
                            IS DISTINCT FROM (m.body, m.reply_to, m.mentions, m.extra, m.is_sealed, false)
                        OR k.attachments IS NOT NULL OR k.forward_of IS NOT NULL)
                    THEN {SendVerdict.idIsTaken}
                ELSE {SendVerdict.repeated} END
             FROM store.messages k
             WHERE k.slot = m.slot AND k.conversation_id = m.conversation_id AND k.id = m.id) AS known,
            (SELECT deleted_early FROM streams)[stream] AND (
                SELECT true FROM store.early_deletions e
                WHERE e.slot = m.slot AND e.conversation_id = m.conversation_id AND e.message_id = m.id
                  AND e.user_id = :senders[m.stream]) IS NOT NULL AS is_deleted
        FROM (
            SELECT m.*, :slots[c] AS slot, :conversations[c] AS conversation_id, :ids[ordinal] AS id,
                CASE WHEN :reply_places[reply] = ordinal THEN :parents[reply] END AS reply_to,
                CASE WHEN :reply_places[reply] = ordinal THEN (SELECT seqs FROM replies)[reply] END AS reply_seq,
                CASE WHEN :mention_places[mention] = ordinal THEN :mention_lists[mention] END AS mentions,
                CASE WHEN :extra_places[extra_place] = ordinal THEN :extras[extra_place] END AS extra,
                coalesce(:sealed_places[width_bucket(ordinal, :sealed_places)] = ordinal, false) AS is_sealed
            FROM (
                SELECT t.*, :streams[ordinal] AS stream, :stream_conversations[:streams[ordinal]] AS c,
                    width_bucket(ordinal, :reply_places) AS reply, width_bucket(ordinal, :mention_places) AS mention,
                    width_bucket(ordinal, :extra_places) AS extra_place
                FROM unnest(:texts) WITH ORDINALITY AS t(body, ordinal)
                OFFSET 0
            ) m
            OFFSET 0
        ) m
        OFFSET 0
    ) m
),
refused AS MATERIALIZED (
    SELECT coalesce(array_agg(ordinal ORDER BY ordinal), '{}') AS ordinals,
        coalesce(array_agg(outcome::smallint ORDER BY ordinal), '{}') AS outcomes
    FROM judged WHERE outcome <> {SendVerdict.stored}
),
-- Each conversation goes on by as many positions as messages are stored in it. `last_at` never goes back.
advanced AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + n.until - n.before,
        last_at = greatest(c.last_at, (SELECT {ChangeTime.now}))
    FROM (
        -- The messages that are stored up to the conversation's last, and those before its first.
        SELECT k.slot, k.id, k.n, k.last - width_bucket(k.last, r.ordinals) AS until,
            coalesce(:ends[k.n - 1] - width_bucket(:ends[k.n - 1], r.ordinals), 0) AS before
        FROM refused r, unnest(:slots, :conversations, :ends) WITH ORDINALITY AS k(slot, id, last, n)
        OFFSET 0
    ) n
    WHERE c.slot = n.slot AND c.id = n.id AND n.until > n.before
    RETURNING n.n, c.last_seq - n.until AS base, c.last_at, c.member_count
),
positions AS MATERIALIZED (
    SELECT coalesce(array_agg(n), '{}') AS conversations, coalesce(array_agg(base), '{}') AS bases,
        coalesce(array_agg(last_at), '{}') AS times, coalesce(array_agg(member_count), '{}') AS member_counts
    FROM (SELECT * FROM advanced ORDER BY n) a
),
-- What was deleted before it came is stored without its text.
inserted AS (
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, reply_to, reply_seq, mentions, extra, sent_at, created_at, deleted_at)
    SELECT slot, conversation_id, seq, id, seq, :senders[stream],
        CASE WHEN is_sealed THEN {MessageKind.sealed} WHEN reply_to IS NULL THEN {MessageKind.text} ELSE {MessageKind.reply} END,
        CASE WHEN NOT is_deleted THEN body END, reply_to, reply_seq,
        CASE WHEN NOT is_deleted THEN string_to_array(mentions, ',') END, CASE WHEN NOT is_deleted THEN extra END,
        :sent_times[ordinal], at,
        CASE WHEN is_deleted THEN at END
    FROM (
        SELECT *, (SELECT bases FROM positions)[p] + ordinal - width_bucket(ordinal, (SELECT ordinals FROM refused)) AS seq,
            (SELECT times FROM positions)[p] AS at
        FROM (
            SELECT *, width_bucket(c::bigint, (SELECT conversations FROM positions)) AS p FROM judged
            WHERE outcome = {SendVerdict.stored}
            OFFSET 0
        ) j
        OFFSET 0
    ) j
)
SELECT p.conversations, p.bases, p.times, p.member_counts, f.ordinals AS refused_places, f.outcomes AS refusals,
    coalesce((
        SELECT array_agg(ordinal ORDER BY ordinal) FROM judged WHERE outcome = {SendVerdict.stored} AND is_deleted
    ), '{}') AS deleted_places,
    r.ordinals AS reply_places, r.seqs AS parent_seqs, r.senders AS parent_senders, r.bodies AS parent_texts
FROM positions p, refused f, replies r
