-- The first columns of a result of send_messages for a run of one message, by a row of `judged` and one of `advanced`, `a`.
'{1}'::bigint[] AS conversations, ARRAY[coalesce(a.last_seq - 1, 0)] AS bases,
    ARRAY[coalesce(a.last_at, 'epoch')] AS times, ARRAY[coalesce(a.member_count, 0)] AS member_counts,
    CASE WHEN a.last_seq IS NOT NULL THEN '{}' ELSE '{1}' END::bigint[] AS refused_places,
    ARRAY[CASE WHEN outcome = {SendVerdict.stored} AND a.last_seq IS NULL THEN {SendVerdict.mayNotWrite} ELSE outcome END::smallint]
        AS refusals,
    CASE WHEN is_deleted THEN '{1}' ELSE '{}' END::bigint[] AS deleted_places
