-- CTEs `position` and `feed`, and the SELECT of the changes of a conversation in a range of positions, in one snapshot, with
-- the CTE `stays (first_seq, last_seq)`: the ranges that the reader sees. The feed is the union of created messages and all
-- other changes. No row: there is no such conversation, or no stay. A row without a change: there is none.
--
-- :slot
-- :conversation
-- :after
-- :through
-- :limit
-- :position         the messages of the changes `f` are as of this
-- :member_count     of the conversation `p`
--
-- > last_seq                bigint       of the conversation, or of the reader's view of it
-- > conversation_kind       smallint     ConversationKind
-- > conversation_created_at timestamptz
-- > member_count            integer
-- > change_seq              bigint       NULL without a change, like all that follows
-- > change_kind             smallint     ChangeKind
-- > at                      timestamptz
-- > actor_id                text
-- > user_id                 text         whom a change of members is about, or NULL
-- > role                    smallint     MemberRole, or NULL
-- > title                   text         or NULL
-- > permissions             smallint     GroupPermissions, or NULL
-- > lifetime                integer      of new messages, in seconds, or NULL
-- > lifetime_from_reading   boolean      whether it counts from reading on; NULL: it does not
-- > kept_from               bigint       the first position whose message is kept, or NULL
-- > {whole_message}
position AS (
    SELECT c.kind, c.created_at, c.member_count, least(c.last_seq, max(s.last_seq)) AS last_seq
    FROM store.conversations c, stays s
    WHERE c.slot = :slot AND c.id = :conversation
    GROUP BY c.slot, c.id
), feed AS (
    SELECT f.* FROM stays s, LATERAL (
        (SELECT m.seq, {ChangeKind.messageCreated}::smallint AS kind, m.created_at AS at, m.sender_id AS actor_id,
            NULL::text AS user_id, NULL::smallint AS role, NULL::text AS title,
            NULL::smallint AS permissions, NULL::integer AS lifetime, NULL::boolean AS lifetime_from_reading, m.id AS message_id,
            NULL::bigint AS kept_from
         FROM store.messages m
         WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq > :after AND m.seq <= :through
           AND m.kind <> {MessageKind.system} AND m.seq BETWEEN s.first_seq AND s.last_seq
         ORDER BY m.seq LIMIT :limit)
        UNION ALL
        (SELECT h.seq, h.kind, h.at, h.actor_id, h.user_id, h.role, h.title, h.permissions, h.lifetime,
            h.lifetime_from_reading, h.message_id, CASE WHEN h.kind = {ChangeKind.historyTrimmed} THEN h.about_seq END AS kept_from
         FROM store.changes h
         WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq > :after AND h.seq <= :through
           AND h.seq BETWEEN s.first_seq AND s.last_seq
         ORDER BY h.seq LIMIT :limit)
    ) f
    ORDER BY f.seq LIMIT :limit
)
SELECT p.last_seq, p.kind AS conversation_kind, p.created_at AS conversation_created_at, :member_count AS member_count,
    f.seq AS change_seq, f.kind AS change_kind, f.at, f.actor_id, f.user_id, f.role, f.title, f.permissions, f.lifetime,
    f.lifetime_from_reading, f.kept_from,
    {whole_message(reader => NULL, voter => CASE WHEN f.kind = {ChangeKind.pollVoted} THEN f.actor_id END)}
FROM position p
LEFT JOIN feed f ON true
LEFT JOIN LATERAL (
    SELECT m.* FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = f.message_id
      AND EXISTS (SELECT FROM stays s WHERE m.seq BETWEEN s.first_seq AND s.last_seq)
    OFFSET 0  -- Else the planner joins all messages of the conversation with the stays first.
) m ON true
ORDER BY f.seq
