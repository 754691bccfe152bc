-- A page of what a user has scheduled, in the order in which it was told of.
--
-- :user            text
-- :user_slot       smallint
-- :in_conversation uuid     or NULL: in all
-- :after           bigint   the `useq` of the last one of the page before
-- :limit           bigint
--
-- > conversation_id uuid
-- > message_id      uuid
-- > due_at          timestamptz
-- > text            text
-- > reply_to        uuid         or NULL
-- > mentions        text         or NULL
-- > extra           text         or NULL
-- > useq            bigint
-- > problem         smallint     or NULL
-- > failed_at       timestamptz  or NULL
SELECT s.conversation_id, s.message_id, s.at AS due_at, s.body AS text, s.reply_to, s.mentions, s.extra, s.useq, s.problem,
    s.failed_at
FROM store.scheduled s
WHERE s.user_slot = :user_slot AND s.user_id = :user AND s.useq > :after
  AND (:in_conversation::uuid IS NULL OR s.conversation_id = :in_conversation)
ORDER BY s.useq LIMIT :limit
