-- The stays of all but a sender who has left, and how far each was when that was. Equal stays are one row.
--
-- :slot         smallint
-- :conversation uuid
-- :sender       text
-- :end_seq      bigint         where the sender left
-- :ended_at     timestamptz    when
-- :first        bigint         the first message of interest: stays that ended before are left out
--
-- > joined_seq    bigint
-- > left_seq      bigint
-- > delivered_seq bigint
-- > shown_seq     bigint
-- > count         bigint
SELECT joined_seq, left_seq, delivered_seq, shown_seq, count(*) AS count FROM (
    SELECT s.joined_seq, least(s.left_seq, :end_seq) AS left_seq,
        {horizon_as_of(kind => {RunKind.delivered}, position => :end_seq, at => :ended_at)} AS delivered_seq,
        {horizon_as_of(kind => {RunKind.read}, position => :end_seq, at => :ended_at)} AS shown_seq
    FROM store.published_appearances s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id <> :sender AND s.joined_seq <= :end_seq
      AND (s.left_seq IS NULL OR s.left_seq >= :first)
) s
GROUP BY 1, 2, 3, 4
