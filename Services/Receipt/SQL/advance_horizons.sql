-- Clamps each signal to the end of its conversation, moves horizons forward and writes at most one run for each part of an
-- advance. Raises the status version of a conversation once if others can see any of its changes. A user occurs once per
-- conversation. Only present members move: what a former member left unread stays unread until they come back.
--
-- It runs under the locks of the positions (lock_positions), under which nobody else moves these horizons.
--
-- It is written like send_messages of the store, for the same reason: PostgreSQL spends its time on index lookups and on
-- carrying rows. Conversations, users and signals are arrays that refer to each other by subscripts (`SignalLayout`). What
-- signals share is looked up once. Each signal then needs only the lookup of its horizon and its run. The horizon is
-- updated at the row address found, in the partition of its slot.
--
-- :slots                   smallint[]  of the conversations
-- :conversations           uuid[]
-- :conversation_of_signal  integer[]   a subscript, for each signal
-- :signal_users            text[]
-- :signal_delivered_seqs   bigint[]
-- :signal_read_seqs        bigint[]
-- :user_slots              smallint[]
-- :users                   text[]      each user once
-- :user_of_signal          integer[]   a subscript, for each signal
--
-- > versions       bigint[]       of the conversations, after this
-- > times          timestamptz[]
-- > member_counts  integer[]
-- > signals        integer[]      the signals that the following arrays are about
-- > verdicts       smallint[]     SignalVerdict
-- > delivered_seqs bigint[]       the horizons after this
-- > read_seqs      bigint[]
-- > shown_seqs     bigint[]
WITH places AS MATERIALIZED (
    SELECT array_agg(place) AS places, array_agg(version) AS versions, array_agg(at) AS times,
        array_agg(last_seq) AS last_seqs, array_agg(member_count) AS member_counts,
        array_agg(removed_seq) AS removed_seqs, array_agg(has_settings) AS settings
    FROM (
        SELECT coalesce(p.ctid, '(0,0)') AS place,
            -- 0: there is no such conversation.
            CASE WHEN c.last_seq IS NULL THEN 0 ELSE coalesce(p.status_version + 1, 0) END AS version,
            -- All advances of a conversation have one time, taken once for all rows and after the locks. `greatest`, and
            -- `least` below, ignore NULLs.
            greatest(p.last_at, (SELECT {ChangeTime.now})) AS at,
            coalesce(c.last_seq, 0) AS last_seq, coalesce(c.member_count, 0) AS member_count,
            coalesce(greatest(
                (SELECT r.seq FROM store.published_changes r
                 WHERE r.slot = k.slot AND r.conversation_id = k.id AND r.kind = {ChangeKind.memberRemoved}
                 ORDER BY r.seq DESC LIMIT 1),
                -- A stay that its user closed ends with a change that is not about it, and that they may have.
                (SELECT m.left_seq + 1 FROM store.published_memberships m
                 WHERE m.slot = k.slot AND m.conversation_id = k.id AND m.left_at IS NOT NULL
                 ORDER BY m.left_seq DESC LIMIT 1)), 0) AS removed_seq,
            (SELECT true FROM store.published_conversation_settings s
             WHERE s.slot = k.slot AND s.conversation_id = k.id LIMIT 1) IS NOT NULL AS has_settings
        FROM unnest(:slots, :conversations) WITH ORDINALITY AS k (slot, id, n)
        LEFT JOIN receipt.positions p ON p.slot = k.slot AND p.conversation_id = k.id
        LEFT JOIN store.published_conversations c ON c.slot = k.slot AND c.id = k.id
        ORDER BY n
    ) k
), readers AS MATERIALIZED (
    -- What others see of a reading is decided here and not from a cache. After the service has confirmed to users that
    -- their read receipts are off, none of their readings is shown. The user's setting lies in the user's slot, so this
    -- statement uses two slots.
    SELECT array_agg(coalesce((
        SELECT s.read_receipts FROM store.published_user_settings s
        WHERE s.user_slot = u.slot AND s.user_id = u.id), true) ORDER BY n) AS shows
    FROM unnest(:user_slots, :users) WITH ORDINALITY AS u (slot, id, n)
), judged AS MATERIALIZED (
    SELECT
        CASE WHEN standing < {SignalVerdict.isMember} THEN standing ELSE {SignalVerdict.isMember}
            + CASE WHEN delivered_seq > old_delivered THEN {SignalVerdict.deliveredMoved} ELSE 0 END
            + CASE WHEN shown_seq > old_shown THEN {SignalVerdict.shownMoved} ELSE 0 END
            + CASE WHEN read_seq > old_read THEN {SignalVerdict.readMoved} ELSE 0 END
        END AS verdict,
        c, delivered_seq, read_seq, shown_seq, old_delivered, old_shown, old_version, ordinal, place, user_id
    FROM (
        SELECT s.ordinal, s.c, s.user_id, h.place, coalesce(h.version, 0) AS old_version,
            coalesce(h.delivered_seq, 0) AS old_delivered, coalesce(h.read_seq, 0) AS old_read,
            coalesce(h.shown_seq, 0) AS old_shown,
            CASE
                -- A horizon never lies beyond the end of its user's last stay. So a user whose horizon is at or after the
                -- conversation's last removal is a member, and stays are looked up only for the others.
                WHEN h.delivered_seq >= (SELECT removed_seqs FROM places)[s.c] THEN {SignalVerdict.isMember}
                WHEN (SELECT versions FROM places)[s.c] = 0 THEN {SignalVerdict.unknownConversation}
                WHEN (SELECT true FROM store.published_memberships m
                      WHERE m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.user_id = s.user_id
                        AND m.left_seq IS NULL) THEN {SignalVerdict.isMember}
                WHEN (SELECT true FROM store.published_memberships m
                      WHERE m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.user_id = s.user_id
                      LIMIT 1) THEN {SignalVerdict.hasLeft}
                ELSE {SignalVerdict.unknownConversation}
            END AS standing,
            greatest(h.delivered_seq, s.delivered_seq) AS delivered_seq,
            greatest(h.read_seq, s.read_seq) AS read_seq,
            CASE
                WHEN s.read_seq > coalesce(h.read_seq, 0) AND coalesce(
                    CASE WHEN (SELECT settings FROM places)[s.c] THEN (
                        SELECT o.read_receipts FROM store.published_conversation_settings o
                        WHERE o.slot = s.slot AND o.conversation_id = s.conversation_id AND o.user_id = s.user_id
                    ) END,
                    (SELECT shows FROM readers)[(:user_of_signal)[s.ordinal]]) THEN s.read_seq
                ELSE coalesce(h.shown_seq, 0)
            END AS shown_seq
        FROM (
            SELECT t.ordinal, t.c, t.user_id, (:slots)[c] AS slot, (:conversations)[c] AS conversation_id,
                least(greatest((:signal_delivered_seqs)[ordinal], (:signal_read_seqs)[ordinal]),
                    (SELECT last_seqs FROM places)[c]) AS delivered_seq,
                least((:signal_read_seqs)[ordinal], (SELECT last_seqs FROM places)[c]) AS read_seq
            FROM (
                SELECT t.ordinal, t.user_id, (:conversation_of_signal)[ordinal] AS c
                FROM unnest(:signal_users) WITH ORDINALITY AS t (user_id, ordinal)
                OFFSET 0
            ) t
            OFFSET 0
        ) s
        LEFT JOIN LATERAL (
            SELECT h.ctid AS place, h.version, h.delivered_seq, h.read_seq, h.shown_seq FROM receipt.horizons h
            WHERE h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
        ) h ON true
        OFFSET 0
    ) j
), kept AS (
    UPDATE receipt.horizons h
    SET delivered_seq = m.delivered_seq, read_seq = m.read_seq, shown_seq = m.shown_seq,
        version = CASE WHEN m.verdict & {SignalVerdict.seenMoved} > 0 THEN (SELECT versions FROM places)[m.c]
            ELSE m.old_version END
    FROM judged m
    WHERE m.verdict & {SignalVerdict.anyMoved} > 0 AND h.ctid = m.place AND h.slot = (:slots)[m.c]
), begun AS (
    INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
    SELECT (:slots)[c], (:conversations)[c], user_id, delivered_seq, read_seq, shown_seq, (SELECT versions FROM places)[c]
    FROM judged WHERE verdict & {SignalVerdict.anyMoved} > 0 AND place IS NULL
), runs AS (
    INSERT INTO receipt.receipt_runs (slot, conversation_id, user_id, kind, from_seq, to_seq, at)
    SELECT (:slots)[c], (:conversations)[c], user_id, kind, from_seq, to_seq, (SELECT times FROM places)[c]
    FROM (
        SELECT c, user_id, {RunKind.both} AS kind, old_delivered + 1 AS from_seq, shown_seq AS to_seq FROM judged
        WHERE verdict & {SignalVerdict.seenMoved} > 0 AND shown_seq > old_delivered
        UNION ALL
        SELECT c, user_id, {RunKind.delivered}, greatest(old_delivered, shown_seq) + 1, delivered_seq FROM judged
        WHERE verdict & {SignalVerdict.seenMoved} > 0 AND delivered_seq > greatest(old_delivered, shown_seq)
        UNION ALL
        SELECT c, user_id, {RunKind.read}, old_shown + 1, least(old_delivered, shown_seq) FROM judged
        WHERE verdict & {SignalVerdict.seenMoved} > 0 AND least(old_delivered, shown_seq) > old_shown
    ) r
), raised AS (
    UPDATE receipt.positions p
    SET status_version = (SELECT versions FROM places)[m.c], last_at = (SELECT times FROM places)[m.c]
    FROM (SELECT DISTINCT c FROM judged WHERE verdict & {SignalVerdict.seenMoved} > 0) m
    WHERE p.ctid = (SELECT places FROM places)[m.c] AND p.slot = (:slots)[m.c]
)
SELECT p.versions, p.times, p.member_counts, j.*
FROM places p, (
    SELECT array_agg(ordinal::integer) AS signals, array_agg(verdict::smallint) AS verdicts,
        array_agg(delivered_seq) AS delivered_seqs, array_agg(read_seq) AS read_seqs, array_agg(shown_seq) AS shown_seqs
    FROM judged
) j
