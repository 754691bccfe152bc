-- Which of some messages are stored: those with these ids, and, where a text is given, only the sender's that say it now.
-- Always one row.
--
-- :slot         smallint
-- :conversation uuid
-- :sender       text
-- :ids          uuid[]
-- :texts        text[]     of each; empty: whatever it says
--
-- > is_in_conversation boolean  the sender is or was a member
-- > written            bigint[] places of those that are stored, from 1
SELECT EXISTS (
        SELECT FROM store.memberships s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :sender
    ) AS is_in_conversation,
    coalesce((
        SELECT array_agg(i.ordinal)
        FROM unnest(:ids, :texts) WITH ORDINALITY AS i(id, text, ordinal)
        WHERE (
            SELECT i.text = '' OR m.sender_id = :sender AND m.body IS NOT DISTINCT FROM i.text
            FROM store.messages m
            WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = i.id
        )
    ), '{}') AS written
