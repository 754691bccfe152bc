-- A page of a conversation's records for an export: what came after a position, as a reader may see it, in one snapshot.
-- One row or more, of which the first tells how far the page goes; a message has a row for each of its texts.
--
-- A page ends where it has read enough rows or texts, and before a message that has changed behind the position whose
-- state is exported. Of a text that was edited very often or is very long, the first and the newest are returned.
--
-- :slot          smallint
-- :conversation  uuid
-- :reader        text        NULL: whoever may see everything
-- :with_messages boolean     false: of what happened, the changes alone
-- :after         bigint
-- :through       bigint
-- :state         bigint
--
-- > covered       bigint      the next page begins after it
-- > is_stale      boolean     what comes next has changed behind the state
-- > stay_count    bigint      of the reader
-- > view_end      bigint
-- > seq           bigint      NULL without a record, like all that follows
-- > kind          smallint    ChangeKind
-- > at            timestamptz
-- > actor_id      text
-- > user_id       text        or NULL
-- > role          smallint    or NULL
-- > title         text        or NULL
-- > message_id    uuid        or NULL
-- > reply_to      uuid        or NULL
-- > deleted_at    timestamptz or NULL
-- > tapback       text        or NULL
-- > vote          smallint    a bit for each option; 0: another one replaced it before the state; or NULL
-- > is_closing    boolean     of a poll, or NULL
-- > attachments   text        JSON array, or NULL
-- > extra         text        JSON object, or NULL
-- > is_sealed     boolean     or NULL
-- > forwarded_by  text        or NULL
-- > forwarded_at  timestamptz or NULL
-- > options       text[]      of a poll
-- > is_multiple   boolean     or NULL
-- > body          text        or NULL
-- > body_at       timestamptz or NULL
WITH {stays_of_reader},
view AS MATERIALIZED (
    SELECT count(*) AS stay_count, coalesce(max(s.last_seq), {Int64.max}) AS end_seq FROM stays s
),
found AS MATERIALIZED (
    SELECT f.* FROM (
        (SELECT m.seq, {ChangeKind.messageCreated}::smallint AS kind, m.created_at AS at, m.sender_id AS actor_id,
            NULL::text AS user_id, NULL::smallint AS role, NULL::text AS title, m.id AS message_id,
            NULL::smallint AS prior_role
         FROM store.messages m
         WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq > :after AND m.seq <= :through
           AND :with_messages
         ORDER BY m.seq LIMIT {ExportStatements.rowsPerPage})
        UNION ALL
        (SELECT h.seq, h.kind, h.at, h.actor_id, h.user_id, h.role, h.title, h.message_id, h.prior_role
         FROM store.changes h
         WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq > :after AND h.seq <= :through
         ORDER BY h.seq LIMIT {ExportStatements.rowsPerPage})
    ) f
    ORDER BY f.seq LIMIT {ExportStatements.rowsPerPage}
),
-- A position may have two rows: what a page reads of its last one may be the first of them.
read AS MATERIALIZED (
    SELECT CASE WHEN count(*) < {ExportStatements.rowsPerPage} THEN :through ELSE max(f.seq) - 1 END AS through FROM found f
),
judged AS MATERIALIZED (
    SELECT f.*, t.changed_seq, t.reply_to, t.deleted_at, t.kind AS message_kind, t.attachments, t.extra, t.forwarded_by,
        t.forwarded_at, t.options, t.is_multiple, t.body, t.edited_at, t.created_at,
        CASE f.kind
            WHEN {ChangeKind.messageCreated} THEN t.kind <> {MessageKind.system} AND t.is_visible
            WHEN {ChangeKind.tapbackSet} THEN t.is_visible
            WHEN {ChangeKind.pollVoted} THEN t.is_visible
            WHEN {ChangeKind.pollClosed} THEN t.is_visible
            -- An archive knows owners and members: of an admin it has a member.
            WHEN {ChangeKind.memberChanged} THEN
                f.prior_role IS NULL OR (f.role = {MemberRole.owner}) <> (f.prior_role = {MemberRole.owner})
            ELSE f.kind IN ({ChangeKind.memberAdded}, {ChangeKind.memberRemoved}, {ChangeKind.conversationRenamed})
        END AS is_shown,
        CASE WHEN f.kind = {ChangeKind.tapbackSet} THEN (
            SELECT r.kind FROM store.tapbacks r
            WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = f.message_id
              AND r.user_id = f.actor_id AND (r.seq = f.seq OR r.seq = 0 AND r.at = f.at)
        ) END AS tapback,
        CASE WHEN f.kind = {ChangeKind.pollVoted} THEN (
            -- Else an export of a poll would end whenever somebody votes.
            SELECT CASE WHEN v.seq = f.seq THEN v.options WHEN v.seq <= :state THEN 0::smallint END
            FROM store.votes v
            WHERE v.slot = :slot AND v.conversation_id = :conversation AND v.message_id = f.message_id
              AND v.user_id = f.actor_id
        ) END AS vote,
        CASE WHEN f.kind = {ChangeKind.pollClosed} AND t.closed_seq = f.seq THEN true END AS is_closing
    FROM found f LEFT JOIN LATERAL (
        SELECT m.changed_seq, m.deleted_at, m.kind, CASE WHEN m.deleted_at IS NULL THEN m.attachments END AS attachments,
            CASE WHEN m.deleted_at IS NULL THEN m.extra END AS extra,
            CASE WHEN m.deleted_at IS NULL THEN m.forwarded_by END AS forwarded_by, m.forwarded_at, k.options, k.is_multiple,
            k.closed_seq, m.body, m.edited_at, m.created_at,
            :reader IS NULL OR m.sender_id = :reader OR (
                SELECT true FROM stays s WHERE m.seq BETWEEN s.first_seq AND s.last_seq LIMIT 1) IS NOT NULL
                AND {is_not_hidden(seq => m.seq)} AS is_visible,
            -- Nor is a parent named that was removed.
            CASE WHEN m.reply_to IS NULL OR (
                SELECT true FROM store.messages p
                WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.id = m.reply_to
                  AND (:reader IS NULL OR p.sender_id = :reader OR (
                    SELECT true FROM stays s WHERE p.seq BETWEEN s.first_seq AND s.last_seq LIMIT 1) IS NOT NULL
                    AND {is_not_hidden(seq => p.seq)})) IS NOT NULL THEN m.reply_to END AS reply_to
        FROM store.messages m LEFT JOIN store.polls k ON m.kind = {MessageKind.poll}
            AND k.slot = :slot AND k.conversation_id = :conversation AND k.message_id = m.id
        WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = f.message_id
          AND f.kind IN ({ChangeKind.messageCreated}, {ChangeKind.tapbackSet}, {ChangeKind.pollVoted}, {ChangeKind.pollClosed})
        OFFSET 0
    ) t ON true
    WHERE f.seq <= (SELECT r.through FROM read r)
),
-- The first that is not as it was at the state: a message that has changed, or a tapback, a vote or an end of a poll that
-- went since.
stale AS MATERIALIZED (
    SELECT min(j.seq) AS seq FROM judged j
    WHERE j.is_shown AND j.changed_seq > :state AND num_nonnulls(j.tapback, j.vote, j.is_closing) = 0
),
texts AS MATERIALIZED (
    SELECT j.seq, t.came_seq, t.body, t.at, t.bytes, coalesce(octet_length(j.attachments), 0)
            + coalesce(octet_length(j.extra), 0) + coalesce(octet_length(array_to_string(j.options, '')), 0) AS other_bytes
    FROM view v, judged j, LATERAL (
        SELECT u.came_seq, u.body, u.at, octet_length(u.body) AS bytes,
            row_number() OVER (ORDER BY u.came_seq DESC) AS place,
            sum(octet_length(u.body)) OVER (ORDER BY u.came_seq DESC) AS newer_bytes,
            first_value(octet_length(u.body)) OVER (
                ORDER BY u.came_seq ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS first_bytes
        FROM (
            SELECT w.*, lag(w.replaced_seq, 1, 0::bigint) OVER (ORDER BY w.replaced_seq) AS came_seq FROM (
                SELECT r.body, r.at, r.replaced_seq FROM store.revisions r
                WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = j.message_id
                  AND j.edited_at IS NOT NULL
                UNION ALL
                SELECT j.body, coalesce(j.edited_at, j.created_at), {Int64.max}
            ) w
        ) u
        WHERE u.came_seq <= v.end_seq
    ) t
    WHERE j.kind = {ChangeKind.messageCreated} AND j.is_shown AND j.deleted_at IS NULL
      AND j.seq < coalesce((SELECT s.seq FROM stale s), {Int64.max})
      AND (t.came_seq = 0 OR t.place < {ExportStatements.textsPerMessage}
        AND t.newer_bytes + t.first_bytes <= {ExportStatements.textBytesPerMessage})
),
sizes AS MATERIALIZED (
    SELECT z.seq, sum(z.bytes) OVER (ORDER BY z.seq) - z.bytes AS before
    FROM (SELECT t.seq, sum(t.bytes) + max(t.other_bytes) AS bytes FROM texts t GROUP BY t.seq) z
),
page AS MATERIALIZED (
    SELECT least(
            (SELECT r.through FROM read r), (SELECT s.seq - 1 FROM stale s),
            (SELECT min(z.seq) - 1 FROM sizes z WHERE z.before >= {ExportStatements.bytesPerPage})) AS covered
)
SELECT p.covered, p.covered = (SELECT s.seq - 1 FROM stale s) IS TRUE AS is_stale, v.stay_count, v.end_seq AS view_end,
    j.seq, j.kind, j.at, j.actor_id, j.user_id, j.role, j.title, j.message_id, j.reply_to, j.deleted_at, j.tapback, j.vote,
    j.is_closing, j.attachments, j.extra, j.message_kind = {MessageKind.sealed} AS is_sealed, j.forwarded_by,
    j.forwarded_at, j.options, j.is_multiple, t.body, t.at AS body_at
FROM page p CROSS JOIN view v
LEFT JOIN judged j ON j.is_shown AND j.seq <= p.covered
LEFT JOIN texts t ON t.seq = j.seq
ORDER BY j.seq, t.came_seq
