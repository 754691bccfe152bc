-- The latest activity in the conversation `c` that a reader sees; for a former member, that of their removal.
--
-- :reader
-- :is_present   whether the reader is in the conversation
CASE WHEN :is_present THEN c.last_at
    ELSE coalesce({ended_at(
        slot => c.slot, conversation => c.id, position => {end_of_view(slot => c.slot, conversation => c.id)})}, c.created_at) END
