-- What receipt reads of the schema `store`: who is in which conversation, up to which position, how far users were told
-- that they have read, and who wants to be seen reading. No text, no title. A new table is not among them until it is listed here.

GRANT USAGE ON SCHEMA store TO receipt;
REVOKE ALL ON ALL TABLES IN SCHEMA store FROM receipt;
GRANT SELECT (slot, id, last_seq, member_count) ON store.conversations TO receipt;
GRANT SELECT ON store.memberships, store.user_settings, store.conversation_settings TO receipt;
GRANT SELECT (user_slot, user_id, conversation_id, told_read_seq) ON store.inbox TO receipt;
