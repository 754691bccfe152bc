-- Changes how long messages stay in a conversation: those that are sent from now on. Those before keep the lifetime that they were
-- sent with. In a group owners and admins do it, in a direct conversation either of the two. It is told as a change of its own, which
-- history does not show.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       NULL
-- :seconds      integer    0: for as long as the conversation does
-- :from_reading boolean    whether they count from when everybody else had read a message, and not from when it was sent
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat
            AND (SELECT (c.lifetime, c.lifetime_from_reading) IS DISTINCT FROM (nullif(:seconds, 0), nullif(:from_reading, false))
                FROM conversation c) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN standing.role = {MemberRole.member} AND (
                SELECT c.kind <> {ConversationKind.direct} FROM conversation c) THEN {Problem.forbidden}
            WHEN :from_reading AND (
                SELECT c.member_count > {ContractLimits.readingLifetimeMembers} FROM conversation c) THEN {Problem.tooLarge}
            WHEN :seconds > 0 AND (
                SELECT count(*) FROM store.lifetimes l WHERE l.slot = :slot AND l.conversation_id = :conversation
            ) >= {Lifetimes.rangesLimit} THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + 1, last_at = greatest({ChangeTime.now}, c.last_at), lifetime = nullif(:seconds, 0),
        lifetime_from_reading = nullif(:from_reading, false), lifetime_seq = CASE WHEN :seconds > 0 THEN c.last_seq + 1 END
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due
    RETURNING c.last_seq, c.last_at, c.last_at AS announced_at, c.lifetime
),
{keep_outcome},
ended AS (
    UPDATE store.lifetimes l SET to_seq = moved.last_seq
    FROM moved WHERE l.slot = :slot AND l.conversation_id = :conversation AND l.to_seq IS NULL
),
begun AS (
    INSERT INTO store.lifetimes (slot, conversation_id, from_seq, seconds, done_seq, due_at, look_at)
    SELECT :slot, :conversation, m.last_seq, m.lifetime, m.last_seq,
        CASE WHEN :from_reading THEN 'infinity' ELSE m.ends_at END, CASE WHEN :from_reading THEN m.ends_at END
    FROM (SELECT moved.*, moved.last_at + moved.lifetime * interval '1 second' AS ends_at FROM moved) m
    WHERE m.lifetime IS NOT NULL
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, lifetime, lifetime_from_reading)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.lifetimeChanged}, :actor, moved.last_at, moved.lifetime,
        nullif(:from_reading, false)
    FROM moved
)
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
