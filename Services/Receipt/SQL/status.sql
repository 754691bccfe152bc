-- The position of a conversation, whether it is small enough to name members, and if so all members who moved after a
-- version. Only present members are named, because a later joiner may not learn who was there before. No row: nothing ever
-- moved. A row without a name: no member moved since.
--
-- :slot          smallint
-- :conversation  uuid
-- :after         bigint      the version
-- :named_members integer     the size of the largest conversation that names members
--
-- > status_version bigint
-- > last_at        timestamptz
-- > names_members  boolean
-- > user_id        text         or NULL
-- > delivered_seq  bigint
-- > shown_seq      bigint
SELECT p.status_version, p.last_at, c.member_count <= :named_members AS names_members, h.user_id, h.delivered_seq, h.shown_seq
FROM receipt.positions p
JOIN store.published_conversations c ON c.slot = p.slot AND c.id = p.conversation_id
LEFT JOIN LATERAL (
    SELECT h.* FROM store.published_appearances s CROSS JOIN LATERAL (
        SELECT h.user_id, h.delivered_seq, h.shown_seq FROM receipt.horizons h
        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = s.user_id AND h.version > :after
        OFFSET 0
    ) h
    -- The members of a larger conversation are looked up under no id, because a mere condition would be checked for each
    -- of them.
    WHERE s.slot = :slot AND s.left_seq IS NULL
      AND s.conversation_id = CASE WHEN c.member_count <= :named_members THEN p.conversation_id END
) h ON true
WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.status_version > 0
ORDER BY h.user_id
