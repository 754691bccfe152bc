-- Whether the reader has not hidden the row `m` of {nearby_rows}. Few readers hide anything, so one check for any hidden
-- message, `stay.hides`, precedes the check of each row.
--
-- :reader
(NOT stay.hides OR {is_not_hidden(slot => c.slot, conversation => c.id, seq => m.seq)})
