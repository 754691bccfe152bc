-- The latest changes, for a write that was just carried out and makes two at most.
--
-- :slot         smallint
-- :conversation uuid
--
-- > {latest_feed}
{latest_feed(count => 2)}
