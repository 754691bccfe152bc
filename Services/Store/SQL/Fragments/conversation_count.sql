-- How many conversations are in a user's list. Where the user has no stream yet, nobody has counted.
--
-- :user_slot
-- :user
coalesce(
    (SELECT s.conversation_count FROM store.user_streams s WHERE s.user_slot = :user_slot AND s.user_id = :user),
    (SELECT count(*) FROM store.inbox i
     WHERE i.user_slot = :user_slot AND i.user_id = :user AND {Listing.isListed})::integer)
