-- Notes the conversations that exist.
--
-- :slots         smallint[]
-- :conversations uuid[]
-- :numbers       bigint[]    the number of each note
--
-- > conversation_id uuid    of the notes that were not there before
-- > noted_by        bigint
INSERT INTO {notes} (slot, conversation_id, noted_by)
SELECT k.slot, k.id, k.number FROM unnest(:slots, :conversations, :numbers) AS k (slot, id, number)
WHERE (SELECT true FROM {conversations} e WHERE e.slot = k.slot AND e.{conversations.id} = k.id) IS NOT NULL
ON CONFLICT DO NOTHING
RETURNING conversation_id, noted_by
