-- Hides what a user has uploaded, some of it at a time, and forgets how much it was.
--
-- :slot smallint
-- :user text
--
-- > count bigint
WITH found AS (
    SELECT o.id FROM media.objects o
    WHERE o.slot = :slot AND o.uploader = :user AND o.state <> {ObjectState.deleted}
    ORDER BY o.id LIMIT {Caretaker.rowsPerStep} FOR UPDATE
), hidden AS (
    UPDATE media.objects o SET state = {ObjectState.deleted}, due_at = {now}, claim = 0, name = '', metadata = ''
    FROM found f WHERE o.slot = :slot AND o.id = f.id
    RETURNING o.id
), forgotten AS (
    DELETE FROM media.usage u WHERE u.slot = :slot AND u.user_id = :user
)
SELECT count(*) AS count FROM hidden
