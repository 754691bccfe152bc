-- Removes a user's stays and settings in a conversation, and a piece of their marks on its messages. Receipts are counted
-- here, because `receipt` cannot count in the transaction that marks them as counted. They are removed next.
--
-- :slot         smallint
-- :conversation uuid
-- :user         text
-- :user_slot    smallint
--
-- > next bigint    0: nothing is left
WITH no_hidden AS (
    DELETE FROM store.hidden h
    WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = :user AND h.seq IN (
        SELECT o.seq FROM store.hidden o
        WHERE o.slot = :slot AND o.conversation_id = :conversation AND o.user_id = :user
        ORDER BY o.seq LIMIT {ErasureStatements.rowsLimit})
    RETURNING 1
), no_stays AS (
    DELETE FROM store.memberships s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user
    RETURNING 1
), no_bans AS (
    DELETE FROM store.bans b
    WHERE b.slot = :slot AND b.conversation_id = :conversation AND b.user_id = :user
), no_shadows AS (
    DELETE FROM store.shadows s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user
), no_imported_stays AS (
    DELETE FROM store.import_stays s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user
), no_imported_texts AS (
    DELETE FROM store.import_events e
    WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.sender_id = :user
), no_deletions AS (
    DELETE FROM store.early_deletions d
    WHERE d.slot = :slot AND d.conversation_id = :conversation AND d.user_id = :user
), no_releases AS (
    -- `media` erases all that the user uploaded.
    DELETE FROM store.media_releases r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.sender_id = :user
), no_settings AS (
    DELETE FROM store.conversation_settings o
    WHERE o.slot = :slot AND o.conversation_id = :conversation AND o.user_id = :user
), counted AS (
    UPDATE store.erasures e
    SET hidden = e.hidden + (SELECT count(*) FROM no_hidden),
        memberships = e.memberships + (SELECT count(*) FROM no_stays),
        receipts = e.receipts + CASE WHEN EXISTS (SELECT FROM no_stays) THEN (
            SELECT count(*) FROM receipt.published_receipt_runs r
            WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user) ELSE 0 END
    WHERE e.user_slot = :user_slot AND e.user_id = :user
)
SELECT CASE WHEN (SELECT count(*) FROM no_hidden) = {ErasureStatements.rowsLimit} THEN 1::bigint ELSE 0::bigint END AS next
