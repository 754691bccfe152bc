-- Adds an act of an administrator to the audit log, under the log's lock (Locks.insertAuditLog). A repetition adds nothing.
--
-- :slot          smallint
-- :id            uuid
-- :administrator text
-- :user          text     or NULL
-- :call          text
-- :conversation  uuid     or NULL
-- :target        text     or NULL
-- :detail        text     or NULL
INSERT INTO store.acts (slot, number, id, at, administrator_id, user_id, call, conversation_id, target, detail)
SELECT :slot, 1 + coalesce((SELECT max(a.number) FROM store.acts a WHERE a.slot = :slot), 0), :id, {ChangeTime.now}, :administrator,
    :user, :call, :conversation, :target, :detail
ON CONFLICT (id, slot) DO NOTHING
