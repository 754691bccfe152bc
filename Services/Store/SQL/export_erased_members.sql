-- A page of the members who came and went of whom no stay is left, because they were erased. One row or more, of which the
-- first tells how far the page goes.
--
-- :slot         smallint
-- :conversation uuid
-- :after        bigint
-- :limit        bigint
--
-- > covered bigint      the next page begins after it; the highest number: there is none
-- > user_id text        NULL without a member
-- > kind    smallint    ChangeKind
WITH found AS MATERIALIZED (
    -- A kind in each branch: there is an index for each.
    SELECT * FROM (
        (SELECT h.seq, h.user_id, h.kind FROM store.changes h
         WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.kind = {ChangeKind.memberAdded} AND h.seq > :after
         ORDER BY h.seq LIMIT :limit)
        UNION ALL
        (SELECT h.seq, h.user_id, h.kind FROM store.changes h
         WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.kind = {ChangeKind.memberRemoved}
           AND h.seq > :after
         ORDER BY h.seq LIMIT :limit)
    ) f
    ORDER BY f.seq LIMIT :limit
),
page AS MATERIALIZED (
    SELECT CASE WHEN count(*) < :limit THEN {Int64.max} ELSE max(f.seq) END AS covered FROM found f
)
SELECT p.covered, e.user_id, coalesce(e.kind, 0::smallint) AS kind
FROM page p LEFT JOIN LATERAL (
    SELECT f.seq, f.user_id, f.kind FROM found f
    WHERE (SELECT true FROM store.published_appearances s
           WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = f.user_id LIMIT 1) IS NULL
) e ON true
ORDER BY e.seq
