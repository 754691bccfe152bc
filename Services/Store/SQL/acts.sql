-- A page of the audit log, in its order.
--
-- :slot  smallint
-- :after bigint
-- :limit bigint
--
-- > number           bigint
-- > at               timestamptz
-- > administrator_id text
-- > user_id          text
-- > call             text
-- > conversation_id  uuid
-- > target           text
-- > detail           text
-- > status           smallint
SELECT a.number, a.at, a.administrator_id, a.user_id, a.call, a.conversation_id, a.target, a.detail, a.status
FROM store.acts a WHERE a.slot = :slot AND a.number > :after ORDER BY a.number LIMIT :limit
