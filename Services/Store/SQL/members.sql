-- A page of the members of a conversation by name, as of the reader's last position. A former member sees the members at the
-- end of their own stay, with the roles and receipts of that time. Readers see their own read positions, and those that
-- others show. No row: the reader never was a member. One row without a name: the page is empty.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :after        text        the last member of the page before
-- :limit        bigint
--
-- > {member_as_of}
SELECT s.* FROM {position_of_view}
LEFT JOIN LATERAL (
    SELECT {member_as_of} FROM (
        SELECT s.* FROM store.published_appearances s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id > :after
          AND s.joined_seq <= position.seq AND (s.left_seq IS NULL OR s.left_seq > position.seq)
        ORDER BY s.user_id LIMIT :limit
    ) s
    LEFT JOIN receipt.published_horizons h
        ON h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
) s ON true
WHERE position.seq IS NOT NULL
ORDER BY s.user_id
