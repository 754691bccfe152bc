-- What every write returns of its `verdict v` and what `moved`: one row.
--
-- :positions
-- :useq
-- :told
--
-- > problem   smallint      Problem.Code, or 0
-- > is_repeat boolean       the outcome is that of an earlier request
-- > is_due    boolean       something changed; only then are the following of use
-- > seq       bigint        the conversation's position after the write
-- > at        timestamptz
-- > positions bigint        how many up to there are the write's
-- > useq      bigint        the new position of the private stream that is told, or NULL
-- > told      bigint        the position in the conversation that it is told of, or what else there is to tell
v.problem::smallint AS problem, v.is_repeat, v.is_due, moved.last_seq AS seq, moved.told_at AS at,
    (:positions)::bigint AS positions, (:useq)::bigint AS useq, (:told)::bigint AS told
