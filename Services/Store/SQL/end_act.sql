-- Notes the status of the response to an act, once.
--
-- :slot   smallint
-- :id     uuid
-- :status smallint
UPDATE store.acts a SET status = :status WHERE a.slot = :slot AND a.id = :id AND a.status IS NULL
