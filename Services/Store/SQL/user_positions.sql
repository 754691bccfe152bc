-- Which of a subscriber's private streams have moved on in the database.
--
-- :slot  smallint
-- :users text[]
-- :useqs bigint[]    that the subscriber has
--
-- > user_id   text
-- > last_useq bigint
SELECT u.user_id, u.last_useq FROM unnest(:users, :useqs) AS held (user_id, useq)
JOIN store.user_streams u ON u.user_slot = :slot AND u.user_id = held.user_id
WHERE u.last_useq > held.useq
