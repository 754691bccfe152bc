-- What belongs to the message in row `m` and stands elsewhere, as of a position.
--
-- :slot         of `m`; as a parameter where there is one: then all is looked for in one partition, and on one node
-- :reader
-- :voter        whose vote in a poll is shown
-- :position
--
-- > {tapbacks_shown}
-- > {poll_shown}
-- > event          text           JSON object: what a system message shows; NULL of any other
{tapbacks_shown},
    {poll_shown},
    CASE WHEN m.kind = {MessageKind.system} THEN (
        SELECT json_strip_nulls(json_build_object(
            'kind', CASE h.kind
                WHEN {ChangeKind.memberAdded} THEN {ChangeKind.memberAdded.name}
                WHEN {ChangeKind.memberRemoved} THEN {ChangeKind.memberRemoved.name}
                WHEN {ChangeKind.memberChanged} THEN {ChangeKind.memberChanged.name}
                WHEN {ChangeKind.conversationRenamed} THEN {ChangeKind.conversationRenamed.name}
            END, 'userId', h.user_id, 'title', h.title))::text
        FROM store.changes h
        WHERE h.slot = :slot AND h.conversation_id = m.conversation_id AND h.seq = m.seq
    ) END AS event
