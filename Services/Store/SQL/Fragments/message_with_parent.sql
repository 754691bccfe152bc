-- {whole_message}, and of the row `parent` what a preview needs.
--
-- :slot
-- :reader
-- :position
--
-- > {whole_message}
-- > parent_sender_id text    NULL where the reader does not see the parent
-- > parent_text      text
{whole_message(voter => :reader)}, parent.sender_id AS parent_sender_id, left(parent.body, {Preview.codePoints}) AS parent_text
