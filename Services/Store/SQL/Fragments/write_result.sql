-- What every write returns of its `verdict v` and what `moved`: one row.
--
-- :positions
-- :useq
-- :detail
--
-- > problem   smallint      Problem.Code, or 0
-- > is_repeat boolean       the outcome is that of an earlier request
-- > is_due    boolean       something changed; only then are the following of use
-- > seq       bigint        the conversation's position after the write
-- > at        timestamptz
-- > positions bigint        how many up to there are the write's
-- > useq      bigint        the position of the private change, or NULL
-- > detail    bigint        what else the private change, or its announcement, says
v.problem::smallint AS problem, v.is_repeat, v.is_due, moved.last_seq AS seq, moved.announced_at AS at,
    (:positions)::bigint AS positions, (:useq)::bigint AS useq, (:detail)::bigint AS detail
