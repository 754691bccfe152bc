-- FROM item `position (seq, ended_at)`: the end of a reader's view of a conversation.
--
-- :slot
-- :conversation
-- :reader
(SELECT p.seq, {ended_at(position => p.seq)} AS ended_at FROM (SELECT {end_of_view} AS seq) p) position
