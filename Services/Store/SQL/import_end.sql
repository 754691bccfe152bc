-- Ends an import: the stays become those of the conversation, and each user's private stream says that they joined, and that
-- they left where they are no members any more. How far they have read, they learn with that. One row, of arrays.
-- Everything has taken its position (import_messages).
--
-- Locks: the streams of all who have a stay (lock_imported_streams).
--
-- :slot         smallint
-- :conversation uuid
--
-- > verdict      smallint    ImportVerdict
-- > at           timestamptz the time of the private changes; NULL if there are none, like the following
-- > member_count integer
-- > users        text[]
-- > useqs        bigint[]    of the first private change of each
-- > joined_seqs  bigint[]    the beginning of the user's last stay
-- > left_seqs    bigint[]    its end; 0: it lasts
WITH {import_state},
verdict AS MATERIALIZED (
    SELECT coalesce((
        SELECT CASE
            WHEN state.is_open THEN {ImportVerdict.stored}
            WHEN state.has_ended THEN {ImportVerdict.repeated}
            ELSE {ImportVerdict.hasEnded}
        END FROM state
    ), {ImportVerdict.noImport}) AS outcome
),
ended AS (
    UPDATE store.imports i SET ended_at = s.now FROM state s, verdict v
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND v.outcome = {ImportVerdict.stored}
    RETURNING i.ended_at AS at
),
-- Whoever asks what changed finds the conversation by this transaction.
touched AS (
    UPDATE store.conversations c SET last_seq = c.last_seq FROM ended WHERE c.slot = :slot AND c.id = :conversation
),
gone AS (
    DELETE FROM store.import_stays s USING ended WHERE s.slot = :slot AND s.conversation_id = :conversation
    RETURNING s.user_id, s.user_slot, s.joined_seq, s.left_seq, s.role, s.conversation_id
),
member AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, left_seq, role)
    SELECT :slot, :conversation, g.user_id, g.joined_seq, g.left_seq, g.role FROM gone g
),
latest AS MATERIALIZED (
    SELECT DISTINCT ON (g.user_id) g.user_id, g.user_slot, g.joined_seq, g.left_seq, g.conversation_id FROM gone g
    ORDER BY g.user_id, g.joined_seq DESC
),
stream AS (
    UPDATE store.user_streams s
    SET last_useq = s.last_useq + CASE WHEN l.left_seq IS NULL THEN 1 ELSE 2 END
    FROM latest l WHERE s.user_slot = l.user_slot AND s.user_id = l.user_id
    RETURNING s.user_slot, s.user_id, s.last_useq - CASE WHEN l.left_seq IS NULL THEN 0 ELSE 1 END AS useq, l.joined_seq,
        l.left_seq
),
-- By the conversation of the stays, as in import_drop.
told AS (
    UPDATE store.inbox i SET told_read_seq = r.read_seq
    FROM latest l CROSS JOIN LATERAL (
        SELECT h.read_seq FROM receipt.published_horizons h
        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = l.user_id OFFSET 0
    ) r
    WHERE i.user_slot = l.user_slot AND i.user_id = l.user_id AND i.conversation_id = l.conversation_id
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
    SELECT s.user_slot, s.user_id, s.useq, {PrivateKind.conversationJoined}, ended.at, :slot, :conversation, s.joined_seq - 1
    FROM stream s, ended
    UNION ALL
    SELECT s.user_slot, s.user_id, s.useq + 1, {PrivateKind.conversationLeft}, ended.at, :slot, :conversation, s.left_seq
    FROM stream s, ended WHERE s.left_seq IS NOT NULL
)
SELECT v.outcome::smallint AS verdict, (SELECT ended.at FROM ended) AS at, (SELECT state.member_count FROM state) AS member_count,
    coalesce(array_agg(s.user_id) FILTER (WHERE s.user_id IS NOT NULL), '{}') AS users,
    coalesce(array_agg(s.useq) FILTER (WHERE s.user_id IS NOT NULL), '{}') AS useqs,
    coalesce(array_agg(s.joined_seq) FILTER (WHERE s.user_id IS NOT NULL), '{}') AS joined_seqs,
    coalesce(array_agg(coalesce(s.left_seq, 0)) FILTER (WHERE s.user_id IS NOT NULL), '{}') AS left_seqs
FROM verdict v LEFT JOIN stream s ON true
GROUP BY v.outcome
