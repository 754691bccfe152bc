-- Reports a message or a person to the administrators. The actor has to see the message as pages show it to them; a person is one
-- who is or was in the conversation while the actor was. Nobody is told, and it takes no position. The row keeps the message as
-- the actor sees it now, because its sender may delete it.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]      see prior_outcome
-- :action       smallint
-- :subject      uuid        the report
-- :message      uuid        or NULL
-- :user         text        or NULL
-- :reason       smallint    ReportReason
-- :text         text        or NULL
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{visible_message(reader => :actor)},
known AS MATERIALIZED (
    SELECT (r.reporter_id, r.message_id, r.user_id, r.reason, r.text)
        IS NOT DISTINCT FROM (:actor, :message, :user, :reason, :text) AS is_same
    FROM store.reports r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.id = :subject
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat, d.problem = {Problem.none} AND NOT d.is_repeat AND NOT EXISTS (SELECT FROM known) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN EXISTS (SELECT FROM known) THEN (
                SELECT CASE WHEN k.is_same THEN {Problem.none} ELSE {Problem.conflict} END FROM known k)
            WHEN :message IS NOT NULL AND NOT EXISTS (SELECT FROM visible) THEN {Problem.notFound}
            WHEN :user IS NOT NULL AND NOT EXISTS (
                SELECT FROM store.published_appearances a, stays s
                WHERE a.slot = :slot AND a.conversation_id = :conversation AND a.user_id = :user
                  AND a.joined_seq <= s.last_seq AND coalesce(a.left_seq, {Int64.max}) >= s.joined_seq)
                THEN {Problem.notFound}
            -- Where there are very many, a few users cannot keep all others from reporting: each has one.
            WHEN (
                SELECT count(*) FROM store.reports r
                WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.is_open AND r.reporter_id = :actor
            ) >= CASE
                WHEN EXISTS (
                    SELECT FROM store.reports r
                    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.is_open
                    OFFSET {ContractLimits.openReportsPerConversation} - 1)
                    THEN 1
                ELSE {ContractLimits.openReportsPerReporter}
            END THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS MATERIALIZED (
    SELECT c.last_seq, {ChangeTime.now} AS announced_at FROM store.conversations c, verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due
),
{keep_outcome},
{forgotten_reports},
made AS (
    INSERT INTO store.reports (
        slot, conversation_id, id, reporter_id, reason, text, created_at, message_id, user_id, sender_id, message_text, message_at,
        media, message_extra, message_options)
    SELECT :slot, :conversation, :subject, :actor, :reason, :text, moved.announced_at, :message, :user, m.sender_id,
        -- What is sealed no administrator reads.
        CASE WHEN m.kind <> {MessageKind.sealed} THEN nullif({text_as_of(row => m, position => {end_of_stays})}, '') END, m.created_at,
        CASE WHEN m.deleted_at IS NULL THEN {media_of(row => m)} END, CASE WHEN m.deleted_at IS NULL THEN m.extra END,
        CASE WHEN m.kind = {MessageKind.poll} THEN (
            SELECT array_to_string(p.options, E'\n') FROM store.polls p
            WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.message_id = m.id) END
    FROM moved LEFT JOIN visible m ON true
)
SELECT {write_result(positions => 0, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
