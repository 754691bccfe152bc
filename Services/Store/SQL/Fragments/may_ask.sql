-- Whether somebody may ask a user about another conversation, who does not know them. Of direct ones there is one. Of groups those
-- count that the user has declined or was taken out of, too: otherwise somebody could go on with the next one for ever. One too many
-- is as if the user had declined it: whoever asks must not learn of it.
--
-- :user_slot
-- :user
-- :conversation
-- :is_direct
-- :direct         the direct conversation of the two
(:is_direct) OR (
    SELECT count(*) FROM (
        SELECT FROM store.requests w
        WHERE w.user_slot = :user_slot AND w.user_id = :user AND w.direct_id = :direct AND NOT w.is_direct
          AND w.conversation_id <> :conversation
        LIMIT {ContractLimits.requestsPerStranger}) w
) < {ContractLimits.requestsPerStranger}
