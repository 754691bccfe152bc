-- How a conversation began, for an export, and the stays of its reader. One row; none: there is no such conversation.
--
-- The first members are those whose first stay begins with the conversation, and those of whom none is left
-- (export_erased_members).
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text        or NULL
--
-- > kind       smallint    ConversationKind
-- > creator_id text
-- > created_at timestamptz
-- > title      text        or NULL
-- > last_seq   bigint
-- > is_open    boolean     it is being imported
-- > members    text[]
-- > first_seqs bigint[]    of the reader's stays
-- > last_seqs  bigint[]
WITH stays AS MATERIALIZED (
    SELECT s.joined_seq, coalesce(s.left_seq, {Int64.max}) AS last_seq FROM store.memberships s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :reader
)
SELECT c.kind, c.creator_id, c.created_at,
    (SELECT h.title FROM store.changes h
     WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq = 1) AS title,
    c.last_seq,
    EXISTS (
        SELECT FROM store.imports i
        WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.ended_at IS NULL) AS is_open,
    ARRAY(
        SELECT s.user_id FROM store.published_appearances s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.joined_seq = 1) AS members,
    ARRAY(SELECT s.joined_seq FROM stays s ORDER BY s.joined_seq) AS first_seqs,
    ARRAY(SELECT s.last_seq FROM stays s ORDER BY s.joined_seq) AS last_seqs
FROM store.conversations c
WHERE c.slot = :slot AND c.id = :conversation
