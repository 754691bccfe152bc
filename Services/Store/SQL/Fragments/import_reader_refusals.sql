-- The conditions of the CASE that decides on what a user does to `target`, behind those about the message: who does it is in the
-- conversation, and sees the message.
--
-- :slot
-- :conversation
-- :user
WHEN (SELECT true FROM store.import_stays p
      WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.user_id = :user
        AND p.left_seq IS NULL) IS NULL THEN {ImportVerdict.isNoMember}
WHEN (SELECT true FROM store.import_stays p, target t
      WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.user_id = :user
        AND t.seq BETWEEN p.joined_seq AND coalesce(p.left_seq, t.seq) LIMIT 1) IS NULL
    THEN {ImportVerdict.unknownMessage}
