-- What stands in the row `m` of a message itself, whoever reads it. As of a position before `changed_seq` that is not all,
-- nor where there is more; then {whole_message} has the rest.
--
-- > {message_row}
-- > has_more    boolean
{message_row}, m.kind <> {MessageKind.text} OR m.tapback_count > 0 AS has_more
