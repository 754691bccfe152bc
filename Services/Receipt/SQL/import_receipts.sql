-- Imports receipts of a conversation, each at its own time. They move horizons and write runs as advance_horizons does,
-- one advance for each receipt, so nothing tells them from receipts that came when they happened.
--
-- It runs under the lock of the position (lock_positions). Nobody else moves these horizons: until the import has ended,
-- nobody is a member. Whether it is open is read under the lock, too, so what is dropped stays away.
--
-- A receipt must name a message, at a time at which the user was in the conversation and the message there; the times of
-- a user do not go backwards. One that is covered, by the same kind as far at the same time or before, says nothing and
-- is taken, so it makes no difference how often lines are repeated or into which requests they are cut.
--
-- The receipts of a user are adjacent, in their order. Each is judged by the horizons that those before it left behind,
-- so the statement walks along them (`walk`), of all users at once. As in advance_horizons, arrays are looked up by
-- subscripts, which count from 1.
--
-- :slot         smallint
-- :conversation uuid
-- :user_slots   smallint[]
-- :users        text[]         each once
-- :ends         integer[]      the place of the last receipt of each user
-- :user_places  integer[]      a subscript, for each receipt
-- :kinds        smallint[]     RunKind: delivered or read
-- :messages     uuid[]
-- :times        timestamptz[]
--
-- > verdicts smallint[] ReceiptVerdict of each receipt
WITH RECURSIVE imported AS MATERIALIZED (
    SELECT i.ended_at IS NULL AND NOT i.is_dropped AS is_open, {ChangeTime.now} AS now
    FROM store.published_imports i WHERE i.slot = :slot AND i.conversation_id = :conversation
),
readers AS MATERIALIZED (
    SELECT u.n, coalesce((:ends)[u.n - 1], 0) AS place, (:ends)[u.n] AS last_place, h.ctid AS home,
        coalesce(h.delivered_seq, 0) AS delivered_seq, coalesce(h.read_seq, 0) AS read_seq,
        coalesce(h.shown_seq, 0) AS shown_seq, coalesce((
            SELECT max(l.at) FROM unnest(ARRAY[
                {RunKind.delivered}, {RunKind.read}, {RunKind.both}]::smallint[]) AS k (kind)
            CROSS JOIN LATERAL (
                SELECT r.at FROM receipt.receipt_runs r
                WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = u.user_id AND r.kind = k.kind
                ORDER BY r.to_seq DESC LIMIT 1) l
            WHERE h.delivered_seq IS NOT NULL
        ), '-infinity') AS at,
        -- As with every reading: what others see of it is decided when it is stored.
        coalesce((SELECT s.read_receipts FROM store.published_user_settings s
                  WHERE s.user_slot = u.user_slot AND s.user_id = u.user_id), true) AS is_shown
    FROM unnest(:user_slots, :users) WITH ORDINALITY AS u (user_slot, user_id, n)
    LEFT JOIN LATERAL (
        SELECT h.ctid, h.delivered_seq, h.read_seq, h.shown_seq FROM receipt.horizons h
        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = u.user_id OFFSET 0
    ) h ON true
),
reached AS MATERIALIZED (
    SELECT array_agg(r.delivered_seq ORDER BY r.n) AS delivered_seqs, array_agg(r.read_seq ORDER BY r.n) AS read_seqs
    FROM readers r
),
judged AS MATERIALIZED (
    SELECT r.place, coalesce(r.seq, 0) AS seq, r.kind, r.at, CASE
            WHEN r.is_open IS NULL THEN {ReceiptVerdict.noImport}
            WHEN r.at > r.now THEN {ReceiptVerdict.isInFuture}
            WHEN r.seq <= r.reached_seq THEN CASE
                -- A reading that is not shown has no run, and no time.
                WHEN coalesce((
                    SELECT e.at FROM unnest(ARRAY[r.kind, {RunKind.both}]::smallint[]) AS k (kind)
                    CROSS JOIN LATERAL (
                        SELECT e.from_seq, e.at FROM receipt.receipt_runs e
                        WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.user_id = r.user_id
                          AND e.kind = k.kind AND e.to_seq >= r.seq
                        ORDER BY e.to_seq LIMIT 1) e
                    WHERE e.from_seq <= r.seq), '-infinity') <= r.at THEN {ReceiptVerdict.repeated}
                WHEN r.is_open THEN {ReceiptVerdict.isBackwards}
                ELSE {ReceiptVerdict.hasEnded}
            END
            WHEN NOT r.is_open THEN {ReceiptVerdict.hasEnded}
            WHEN r.seq IS NULL THEN {ReceiptVerdict.unknownMessage}
            WHEN r.at < r.created_at THEN {ReceiptVerdict.isBeforeMessage}
            -- A horizon never lies beyond the end of its user's last stay.
            WHEN (SELECT true FROM store.published_import_stays s
                  WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = r.user_id
                    AND r.at >= (SELECT h.at FROM store.published_changes h
                        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq = s.joined_seq)
                    AND (s.left_seq IS NULL OR r.seq < s.left_seq AND r.at <= (
                        SELECT h.at FROM store.published_changes h
                        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq = s.left_seq))
                  LIMIT 1) IS NULL THEN {ReceiptVerdict.isNoMember}
            ELSE {ReceiptVerdict.stored}
        END AS verdict
    FROM (
        SELECT l.*, m.seq, m.created_at, i.is_open, i.now, (:users)[l.n] AS user_id, CASE l.kind
            WHEN {RunKind.read} THEN (SELECT reached.read_seqs FROM reached)[l.n]
            ELSE (SELECT reached.delivered_seqs FROM reached)[l.n] END AS reached_seq
        FROM unnest(:user_places, :kinds, :messages, :times) WITH ORDINALITY AS l (n, kind, message_id, at, place)
        LEFT JOIN LATERAL (
            SELECT m.seq, m.created_at FROM store.published_messages m
            WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = l.message_id
              AND m.kind <> {MessageKind.system} OFFSET 0
        ) m ON true
        LEFT JOIN imported i ON true
        OFFSET 0
    ) r
),
receipts AS MATERIALIZED (
    SELECT array_agg(j.seq ORDER BY j.place) AS seqs, array_agg(j.verdict ORDER BY j.place) AS verdicts FROM judged j
),
-- After each receipt: how far its user is, and since when.
walk AS (
    SELECT r.n, r.home, r.place, r.last_place, r.is_shown, r.delivered_seq, r.read_seq, r.shown_seq, r.at,
        r.delivered_seq AS old_delivered, r.shown_seq AS old_shown, false AS moves, false AS has_moved, true AS is_start
    FROM readers r
    UNION ALL
    SELECT w.n, w.home, w.place, w.last_place, w.is_shown,
        CASE WHEN w.moves THEN greatest(w.delivered_seq, w.seq) ELSE w.delivered_seq END,
        CASE WHEN w.moves AND w.kind = {RunKind.read} THEN w.seq ELSE w.read_seq END,
        CASE WHEN w.moves AND w.kind = {RunKind.read} AND w.is_shown THEN w.seq ELSE w.shown_seq END,
        CASE WHEN w.moves THEN w.time ELSE w.at END,
        w.delivered_seq, w.shown_seq, w.moves, w.has_moved OR w.moves, false
    FROM (
        SELECT w.*, w.verdict = {ReceiptVerdict.stored} AND w.time >= w.at
            AND w.seq > CASE w.kind WHEN {RunKind.read} THEN w.read_seq ELSE w.delivered_seq END AS moves
        FROM (
            SELECT w.n, w.home, w.place + 1 AS place, w.last_place, w.is_shown, w.delivered_seq, w.read_seq, w.shown_seq,
                w.at, w.has_moved, (SELECT r.seqs FROM receipts r)[w.place + 1] AS seq,
                (SELECT r.verdicts FROM receipts r)[w.place + 1] AS verdict, (:kinds)[w.place + 1] AS kind,
                (:times)[w.place + 1] AS time
            FROM walk w WHERE w.place < w.last_place
            OFFSET 0
        ) w
        OFFSET 0
    ) w
),
walked AS MATERIALIZED (SELECT * FROM walk w WHERE NOT w.is_start),
moved AS MATERIALIZED (
    SELECT max(p.status_version) + 1 AS version, max(w.at) AS at, bool_or(w.moves) AS any
    FROM walked w, receipt.positions p WHERE p.slot = :slot AND p.conversation_id = :conversation
),
kept AS (
    UPDATE receipt.horizons h
    SET delivered_seq = w.delivered_seq, read_seq = w.read_seq, shown_seq = w.shown_seq,
        version = (SELECT m.version FROM moved m)
    FROM walked w
    WHERE w.place = w.last_place AND w.has_moved AND h.ctid = w.home AND h.slot = :slot
),
begun AS (
    INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
    SELECT :slot, :conversation, (:users)[w.n], w.delivered_seq, w.read_seq, w.shown_seq, (SELECT m.version FROM moved m)
    FROM walked w WHERE w.place = w.last_place AND w.has_moved AND w.home IS NULL
),
runs AS (
    INSERT INTO receipt.receipt_runs (slot, conversation_id, user_id, kind, from_seq, to_seq, at)
    SELECT :slot, :conversation, (:users)[r.n], r.kind, r.from_seq, r.to_seq, r.at
    FROM (
        SELECT n, at, {RunKind.both} AS kind, old_delivered + 1 AS from_seq, shown_seq AS to_seq FROM walked
        WHERE moves AND shown_seq > old_delivered
        UNION ALL
        SELECT n, at, {RunKind.delivered}, greatest(old_delivered, shown_seq) + 1, delivered_seq FROM walked
        WHERE moves AND delivered_seq > greatest(old_delivered, shown_seq)
        UNION ALL
        SELECT n, at, {RunKind.read}, old_shown + 1, least(old_delivered, shown_seq) FROM walked
        WHERE moves AND least(old_delivered, shown_seq) > old_shown
    ) r
),
raised AS (
    UPDATE receipt.positions p SET status_version = m.version, last_at = greatest(p.last_at, m.at)
    FROM moved m WHERE m.any AND p.slot = :slot AND p.conversation_id = :conversation
),
moves AS MATERIALIZED (SELECT array_agg(w.moves ORDER BY w.place) AS flags FROM walked w)
SELECT coalesce(array_agg(CASE
        WHEN j.verdict <> {ReceiptVerdict.stored} OR (SELECT m.flags FROM moves m)[j.place] THEN j.verdict
        -- Nothing moved: an earlier receipt of this statement goes as far, and said so by then, or this one comes too late.
        WHEN (SELECT min(w.at) FROM walked w
              WHERE w.n = (:user_places)[j.place] AND w.place < j.place AND w.moves
                AND CASE j.kind WHEN {RunKind.read} THEN w.read_seq ELSE w.delivered_seq END >= j.seq) <= j.at
            THEN {ReceiptVerdict.repeated}
        ELSE {ReceiptVerdict.isBackwards}
    END::smallint ORDER BY j.place), '{}') AS verdicts
FROM judged j
