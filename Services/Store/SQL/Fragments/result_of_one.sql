-- The first columns of a result of send_messages for a run of one message, by a row of `judged` and one of `advanced`, `a`.
'{1}'::bigint[] AS conversations, ARRAY[coalesce(a.last_seq - 1, 0)] AS bases,
    ARRAY[coalesce(a.last_at, 'epoch')] AS times, ARRAY[coalesce(a.member_count, 0)] AS member_counts,
    CASE WHEN outcome = {SendVerdict.stored} THEN '{}' ELSE '{1}' END::bigint[] AS refused_places,
    ARRAY[outcome::smallint] AS refusals,
    CASE WHEN is_deleted THEN '{1}' ELSE '{}' END::bigint[] AS deleted_places
