-- Whether a row `i` of store.inbox is in its user's list of conversations. Executables that do not know the column
-- `is_removed` add users again without changing the row, so a member sees the conversation whatever the row says.
--
-- :user
({Listing.isListed} OR (
    SELECT true FROM store.memberships s
    WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = :user AND s.left_seq IS NULL
) IS NOT NULL)
