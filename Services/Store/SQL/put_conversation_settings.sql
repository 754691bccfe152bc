-- A user's settings for one conversation. `detail` is a `ConversationSettings`: the settings in force, and whether they are
-- inherited.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       NULL
-- :sets         boolean    whether to set anything
-- :read_receipts boolean   or NULL: inherited
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND NOT coalesce(NOT :sets OR (
            SELECT s.read_receipts FROM store.conversation_settings s
            WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
        ) IS NOT DISTINCT FROM :read_receipts, false) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 0)},
{keep_outcome},
decided AS (
    INSERT INTO store.conversation_settings (slot, conversation_id, user_id, read_receipts)
    SELECT :slot, :conversation, :actor, :read_receipts FROM moved
    ON CONFLICT (conversation_id, user_id, slot) DO UPDATE SET read_receipts = excluded.read_receipts
),
{tell_user(
    user => :actor, user_slot => :actor_slot, kind => {PrivateKind.settingsChanged}, message => NULL::uuid,
    seq => NULL::bigint, unlisted => 0,
    source => moved)}
SELECT {write_result(
    positions => 0, useq => (SELECT stream.last_useq FROM stream),
    detail => CASE WHEN coalesce(
            :read_receipts,
            (SELECT u.read_receipts FROM store.user_settings u WHERE u.user_slot = :actor_slot AND u.user_id = :actor),
            true) THEN {ConversationSettings.readReceipts} ELSE 0 END
        + CASE WHEN :read_receipts IS NULL THEN {ConversationSettings.inherited} ELSE 0 END)}
FROM verdict v LEFT JOIN moved ON true
