-- Keeps dates. If two services own a slot for a moment, both write the same ones.
--
-- :slot         smallint
-- :conversation uuid
-- :kind         smallint       RunKind: delivered or read
-- :from_seqs    bigint[]
-- :to_seqs      bigint[]
-- :times        timestamptz[]  NULL: the messages have no date
INSERT INTO receipt.completions (slot, conversation_id, kind, from_seq, to_seq, at)
SELECT :slot, :conversation, :kind, from_seq, to_seq, at
FROM unnest(:from_seqs, :to_seqs, :times) AS r (from_seq, to_seq, at)
ON CONFLICT DO NOTHING
