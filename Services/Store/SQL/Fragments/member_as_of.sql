-- The member of stay `s` with the horizon `h`, as of the `position` of {position_of_view}; of the reader themselves as of now.
--
-- :reader
--
-- > user_id       text
-- > role          smallint    MemberRole
-- > joined_seq    bigint
-- > delivered_seq bigint
-- > read_seq      bigint
s.user_id, CASE WHEN position.ended_at IS NULL THEN s.role ELSE {role_as_of(position => position.seq)} END AS role,
s.joined_seq,
CASE WHEN position.ended_at IS NULL OR s.user_id = :reader THEN coalesce(h.delivered_seq, 0)
    ELSE {horizon_as_of(kind => {RunKind.delivered}, position => position.seq, at => position.ended_at)} END AS delivered_seq,
CASE WHEN s.user_id = :reader THEN coalesce(h.read_seq, 0)
    WHEN position.ended_at IS NULL THEN coalesce(h.shown_seq, 0)
    ELSE {horizon_as_of(kind => {RunKind.read}, position => position.seq, at => position.ended_at)} END AS read_seq
