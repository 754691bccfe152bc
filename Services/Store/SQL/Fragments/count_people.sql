-- CTE: the people whom a user brings in are counted, if their account is new. The user's stream is locked.
--
-- :user_slot
-- :user
-- :people         a SELECT of `people`: how many, or no row
-- :people_per_day NULL: they are not counted
introduced AS (
    INSERT INTO store.introductions AS b (user_slot, user_id, since, people)
    SELECT :user_slot, :user, {ChangeTime.now}, p.people FROM (:people) p WHERE :people_per_day IS NOT NULL AND p.people > 0
    ON CONFLICT (user_id, user_slot) DO UPDATE SET
        since = CASE WHEN b.since > excluded.since - interval '1 day' THEN b.since ELSE excluded.since END,
        people = CASE WHEN b.since > excluded.since - interval '1 day' THEN b.people ELSE 0 END + excluded.people
)
