-- The latest changes, for expire_messages, which was just carried out.
--
-- :slot         smallint
-- :conversation uuid
--
-- > {latest_feed}
{latest_feed(count => {Lifetimes.messagesPerStep})}
