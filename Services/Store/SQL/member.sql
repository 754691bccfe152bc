-- One member of a conversation, by the last stay that the reader knows of. So a repeated addition gets its response even if
-- the added user, or the reader, has left.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :user         text
--
-- > {member_as_of}
SELECT {member_as_of} FROM {position_of_view}
CROSS JOIN LATERAL (
    SELECT s.* FROM store.published_appearances s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user AND s.joined_seq <= position.seq
    ORDER BY s.joined_seq DESC LIMIT 1
) s
LEFT JOIN receipt.published_horizons h
    ON h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
