-- Finds messages by whole words, in all conversations of a reader.
--
-- :reader              text
-- :reader_slot         smallint
-- :limit               bigint         one more than wanted, to detect further results
-- :before_at           timestamptz    of the last result of the page before
-- :before_conversation uuid
-- :before_seq          bigint
-- :query               text           a `tsquery` in which `~` stands for the name of the block
-- :patterns            text[]         patterns of LIKE that all must hold
-- :ascii_patterns      text[]         those that hold in any matching text without a character beyond ASCII
--
-- > {find_messages}
{find_messages(
    inbox => i.user_slot = :reader_slot AND i.user_id = :reader AND {is_shown_in_list(user => :reader)},
    matches => {matches_words})}
