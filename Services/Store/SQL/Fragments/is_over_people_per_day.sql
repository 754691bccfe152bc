-- Whether a user would bring in more people within a day than their account, which is new, may. A day begins with the first.
--
-- :user_slot
-- :user
-- :people         how many more
-- :people_per_day NULL: as many as they like
(:people_per_day IS NOT NULL AND :people + coalesce((
    SELECT b.people FROM store.introductions b
    WHERE b.user_slot = :user_slot AND b.user_id = :user AND b.since > {ChangeTime.now} - interval '1 day'), 0) > :people_per_day)
