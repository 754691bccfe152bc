-- Closes an import that has not ended. Then, when its receipts are gone, takes away a piece of it, and at last the
-- conversation. Once it is closed, nothing more is imported; when it is done, another import may have its id.
--
-- Locks: the conversation (lock_conversations) and its index (lock_searches); the streams of all who have a stay
-- (lock_imported_streams), so the number of conversations in their lists stands until the commit.
--
-- :slot              smallint
-- :conversation      uuid
-- :receipts_are_gone boolean    since it was closed
--
-- > verdict smallint ImportVerdict
-- > is_done boolean
WITH {import_state},
verdict AS MATERIALIZED (
    SELECT coalesce((
        SELECT CASE WHEN state.has_ended THEN {ImportVerdict.hasEnded} ELSE {ImportVerdict.stored} END FROM state
    ), {ImportVerdict.noImport}) AS outcome
),
-- Whoever stores receipts meanwhile has seen it closed, or they have been taken away.
going AS MATERIALIZED (
    SELECT 1 FROM verdict v, state
    WHERE v.outcome = {ImportVerdict.stored} AND NOT state.is_open AND :receipts_are_gone
),
piece AS MATERIALIZED (
    SELECT m.seq, m.id FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND EXISTS (SELECT FROM going)
    ORDER BY m.seq LIMIT {DropImport.rowsPerStep}
),
change AS MATERIALIZED (
    SELECT h.seq FROM store.changes h
    WHERE h.slot = :slot AND h.conversation_id = :conversation AND EXISTS (SELECT FROM going)
    ORDER BY h.seq LIMIT {DropImport.rowsPerStep}
),
done AS MATERIALIZED (
    SELECT 1 FROM going
    WHERE (SELECT count(*) FROM piece) < {DropImport.rowsPerStep}
      AND (SELECT count(*) FROM change) < {DropImport.rowsPerStep}
),
no_messages AS (
    DELETE FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq = ANY (ARRAY(SELECT p.seq FROM piece p))
),
no_changes AS (
    DELETE FROM store.changes h
    WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq = ANY (ARRAY(SELECT c.seq FROM change c))
),
no_revisions AS (
    DELETE FROM store.revisions r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = ANY (ARRAY(SELECT p.id FROM piece p))
),
no_tapbacks AS (
    DELETE FROM store.tapbacks r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = ANY (ARRAY(SELECT p.id FROM piece p))
),
no_polls AS (
    DELETE FROM store.polls k
    WHERE k.slot = :slot AND k.conversation_id = :conversation AND k.message_id = ANY (ARRAY(SELECT p.id FROM piece p))
),
no_votes AS (
    DELETE FROM store.votes r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = ANY (ARRAY(SELECT p.id FROM piece p))
),
-- Whole blocks, because nobody sees any of it.
unindexed AS (
    DELETE FROM store.search_blocks b
    WHERE b.slot = :slot AND b.conversation_id = :conversation
      AND b.block = ANY (ARRAY(SELECT p.seq / {SearchBlock.positions} FROM piece p))
),
unindexed_before AS (
    {unindexed_before(seqs => SELECT p.seq FROM piece p)}
),
begun AS (
    UPDATE store.imports i SET is_dropped = true FROM verdict v
    WHERE v.outcome = {ImportVerdict.stored} AND NOT EXISTS (SELECT FROM done)
      AND i.slot = :slot AND i.conversation_id = :conversation
),
no_import AS (
    DELETE FROM store.imports i USING done WHERE i.slot = :slot AND i.conversation_id = :conversation
),
no_events AS (
    DELETE FROM store.import_events e USING done WHERE e.slot = :slot AND e.conversation_id = :conversation
),
no_progress AS (
    DELETE FROM store.search_positions p USING done WHERE p.slot = :slot AND p.conversation_id = :conversation
),
no_conversation AS (
    DELETE FROM store.conversations c USING done WHERE c.slot = :slot AND c.id = :conversation
),
no_stays AS (
    DELETE FROM store.import_stays s USING done WHERE s.slot = :slot AND s.conversation_id = :conversation
    RETURNING s.user_slot, s.user_id, s.conversation_id
),
gone AS MATERIALIZED (SELECT DISTINCT s.user_slot, s.user_id, s.conversation_id FROM no_stays s),
-- By the conversation of the stays: by the parameter, the rows would be sought in every partition.
unlisted AS (
    DELETE FROM store.inbox i USING gone g
    WHERE i.user_slot = g.user_slot AND i.user_id = g.user_id AND i.conversation_id = g.conversation_id
),
counted AS (
    UPDATE store.user_streams s SET conversation_count = s.conversation_count - 1
    FROM gone g WHERE s.user_slot = g.user_slot AND s.user_id = g.user_id
)
SELECT v.outcome::smallint AS verdict, EXISTS (SELECT FROM done) AS is_done FROM verdict v
