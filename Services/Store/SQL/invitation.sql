-- What the code of an invitation tells of its group. No row: it opens nothing to the reader.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :code_hash    uuid
--
-- > title        text    or NULL
-- > member_count integer
WITH {open_invitation(user => :reader)}
SELECT c.title, c.member_count FROM invitation
JOIN store.conversations c ON c.slot = :slot AND c.id = :conversation
