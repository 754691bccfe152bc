-- What receipt reads of the schema `store`: who is in which conversation, up to which position, where somebody was
-- removed, how far users were told that they have read, who wants to be seen, reading or online, and who is erased. No
-- text, no title. A new table is not among them until it is listed here.

GRANT USAGE ON SCHEMA store TO receipt;
REVOKE ALL ON ALL TABLES IN SCHEMA store FROM receipt;
GRANT SELECT (slot, id, kind, last_seq, last_at, member_count) ON store.conversations TO receipt;
GRANT SELECT (slot, conversation_id, seq, kind) ON store.changes TO receipt;
GRANT SELECT ON store.memberships, store.user_settings, store.conversation_settings TO receipt;
GRANT SELECT (user_slot, user_id, conversation_id, slot, told_read_seq) ON store.inbox TO receipt;
GRANT SELECT (user_slot, user_id) ON store.erasures TO receipt;
