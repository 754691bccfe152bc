-- Removes a user's stays and settings in a conversation, and a piece of their marks on its messages. Of reports it removes what
-- is the user's: a reporter's name and text, a sender's copy, a person's name, and of these two what administrators noted. It has
-- all of them, because whoever has no stay any more reports nothing and nobody. Receipts are counted here, because `receipt` cannot count in the transaction that marks them as counted. They are removed next.
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
), no_join_requests AS (
    DELETE FROM store.join_requests r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user
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
), no_reports AS (
    UPDATE store.reports r
    SET reporter_id = nullif(r.reporter_id, :user), text = CASE WHEN r.reporter_id = :user THEN NULL ELSE r.text END,
        user_id = nullif(r.user_id, :user), sender_id = nullif(r.sender_id, :user),
        message_text = CASE WHEN r.sender_id = :user THEN NULL ELSE r.message_text END,
        message_extra = CASE WHEN r.sender_id = :user THEN NULL ELSE r.message_extra END,
        message_options = CASE WHEN r.sender_id = :user THEN NULL ELSE r.message_options END,
        message_at = CASE WHEN r.sender_id = :user THEN NULL ELSE r.message_at END,
        media = CASE WHEN r.sender_id = :user THEN NULL ELSE r.media END,
        note = CASE WHEN :user IN (r.sender_id, r.user_id) THEN NULL ELSE r.note END
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.id IN (
        SELECT o.id FROM store.reports o
        WHERE o.slot = :slot AND o.conversation_id = :conversation AND :user IN (o.reporter_id, o.user_id, o.sender_id)
        ORDER BY o.id LIMIT {ErasureStatements.rowsLimit})
    RETURNING 1
), counted AS (
    UPDATE store.erasures e
    SET hidden = e.hidden + (SELECT count(*) FROM no_hidden),
        memberships = e.memberships + (SELECT count(*) FROM no_stays),
        receipts = e.receipts + CASE WHEN EXISTS (SELECT FROM no_stays) THEN (
            SELECT count(*) FROM receipt.published_receipt_runs r
            WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user) ELSE 0 END
    WHERE e.user_slot = :user_slot AND e.user_id = :user
)
SELECT CASE WHEN {ErasureStatements.rowsLimit} IN ((SELECT count(*) FROM no_hidden), (SELECT count(*) FROM no_reports))
    THEN 1::bigint ELSE 0::bigint END AS next
