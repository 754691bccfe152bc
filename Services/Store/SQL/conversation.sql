-- A conversation as its reader sees it. No row: the reader never was a member.
--
-- :reader       text
-- :slot         smallint
-- :conversation uuid
--
-- > {listed_conversation}
WITH page AS (
    SELECT c.*, {shown_at} AS shown_at FROM store.conversations c WHERE c.slot = :slot AND c.id = :conversation
)
{listed_conversation}
ORDER BY c.id
