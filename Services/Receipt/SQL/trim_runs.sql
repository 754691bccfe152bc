-- Removes a piece of what says when a user got to messages that are kept no longer.
--
-- A former member sees how far the others were when they left: by the last run up to the end of their stay, in positions and in
-- time. So a run goes unless somebody has left between it and the next one, which are in order by both. The last run stays. The
-- next piece begins with the last run of this one.
--
-- :slot         smallint
-- :conversation uuid
-- :user         text
-- :kind         smallint    RunKind
-- :before       bigint      runs up to before this position are looked at, the latest first
--
-- > next_before bigint    of the next piece; NULL: there is none
-- > removed     bigint
WITH page AS MATERIALIZED (
    SELECT r.to_seq, r.at, lag(r.to_seq) OVER w AS next_seq, lag(r.at) OVER w AS next_at,
        row_number() OVER w = {ReceiptRetention.runsPerStep} AS is_last
    FROM (
        SELECT r.to_seq, r.at FROM receipt.receipt_runs r
        WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user AND r.kind = :kind
          AND r.to_seq < :before
        ORDER BY r.to_seq DESC LIMIT {ReceiptRetention.runsPerStep}
    ) r
    WINDOW w AS (ORDER BY r.to_seq DESC)
), ends AS MATERIALIZED (
    -- A stay that its user has closed says when; another one ends with a change.
    SELECT m.left_seq, coalesce(m.left_at, (
        SELECT h.at FROM store.published_changes h
        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq = m.left_seq)) AS left_at
    FROM store.published_memberships m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.left_seq IS NOT NULL
), gone AS (
    DELETE FROM receipt.receipt_runs r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user AND r.kind = :kind
      AND r.to_seq = ANY (ARRAY(
        SELECT p.to_seq FROM page p
        WHERE p.next_seq IS NOT NULL AND NOT p.is_last AND NOT EXISTS (
            SELECT FROM ends e WHERE e.left_seq >= p.to_seq AND e.left_at >= p.at
              AND (e.left_seq < p.next_seq OR e.left_at < p.next_at))))
    RETURNING 1
)
SELECT (SELECT p.to_seq + 1 FROM page p WHERE p.is_last) AS next_before, (SELECT count(*) FROM gone) AS removed
