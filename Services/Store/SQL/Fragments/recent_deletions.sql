-- FROM and WHERE: the recent deletions `h` in the conversation `c`, after the stay `o`.
--
-- :transaction
FROM store.changes h
WHERE h.slot = c.slot AND h.conversation_id = c.id AND h.kind = {ChangeKind.messageDeleted}
  AND h.seq > o.left_seq AND {is_recent(xmin => h.xmin)}
