-- Replaces the text of a message by its sender, within the edit window. The text that was is kept as a revision; two racing
-- edits have an order, and both are kept.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       the message
-- :text         text
-- :is_sealed    boolean    whether that is sealed
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
{visible_target},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat, d.problem = {Problem.none} AND NOT d.is_repeat AS is_due
    FROM standing LEFT JOIN prior p ON true LEFT JOIN target t ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN t.seq IS NULL THEN {Problem.notFound}
            WHEN t.sender_id <> :actor OR t.kind = {MessageKind.system} THEN {Problem.forbidden}
            WHEN (SELECT NOT {is_permitted(
                permissions => c.permissions, bits => {GroupPermissions.write}, role => standing.role)} FROM conversation c)
                THEN {Problem.forbidden}
            -- Votes were for this question, and a forwarded text stays its author's.
            WHEN t.deleted_at IS NOT NULL OR t.kind = {MessageKind.poll} OR t.forwarded_by IS NOT NULL
                OR (t.kind = {MessageKind.sealed}) <> :is_sealed THEN {Problem.conflict}
            WHEN t.edited_at IS NOT NULL AND (
                SELECT count(*) FROM store.revisions r
                WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :subject) >= {ContractLimits.editsPerMessage}
                THEN {Problem.conflict}
            -- By the server's clock, under the row lock. A message from further ahead than clocks are apart got its time
            -- from one that was wrong, and may not be edited for as long as that was.
            WHEN {ChangeTime.now} NOT BETWEEN t.created_at - {TrustedTime.tolerance}
                AND t.created_at + {ContractLimits.editWindow} THEN {Problem.editWindowClosed}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 1)},
{keep_outcome},
revision AS (
    INSERT INTO store.revisions (slot, conversation_id, message_id, replaced_seq, body, at)
    SELECT :slot, :conversation, :subject, moved.last_seq, t.body, coalesce(t.edited_at, t.created_at) FROM moved, target t
),
edited AS (
    UPDATE store.messages m SET body = :text, edited_at = moved.last_at, changed_seq = moved.last_seq
    FROM moved WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject
),
unindexed AS (
    {unindexed(seqs => SELECT t.seq FROM target t CROSS JOIN moved)}
),
unindexed_before AS (
    {unindexed_before(seqs => SELECT t.seq FROM target t CROSS JOIN moved)}
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.messageEdited}, :actor, moved.last_at, :subject FROM moved
)
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
