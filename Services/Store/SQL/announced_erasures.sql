-- The latest changes, for erase_content, which was just carried out.
--
-- :slot         smallint
-- :conversation uuid
--
-- > {latest_feed}
{latest_feed(count => {ErasureStatements.hitsLimit})}
