-- A message that was just written to by a user in the same transaction, for the announcement and, where no reader sees anything else of
-- it, for the response. Nobody writes to a system message.
--
-- :slot         smallint
-- :conversation uuid
-- :message      uuid
-- :voter        text       whose vote the announcement shows, or NULL
--
-- > {whole_message}
-- > is_same_to_all boolean     it is no reply, whose parent not every reader sees, no poll, which shows each their vote, and shows all of
--                            its tapbacks
SELECT {message_row}, {tapbacks_shown(reader => NULL, position => {Int64.max})},
    {poll_shown(voter => :voter, position => {Int64.max})}, NULL::text AS event,
    m.reply_to IS NULL AND m.kind <> {MessageKind.poll} AND m.tapback_count <= {ContractLimits.namedTapbacks} AS is_same_to_all
FROM store.messages m
WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message
