-- What the code of an invitation tells of its group. No row: it opens nothing to the reader.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :code_hash    uuid
--
-- > title          text    or NULL
-- > member_count   integer
-- > needs_approval boolean
WITH {open_invitation(user => :reader)}
SELECT c.title, c.member_count, invitation.needs_approval FROM invitation
JOIN store.conversations c ON c.slot = :slot AND c.id = :conversation
