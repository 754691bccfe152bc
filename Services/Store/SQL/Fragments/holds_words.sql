-- Whether a text of the index holds what a search looks for.
--
-- :text
-- :needle
-- :patterns
strpos(:text, :needle) > 0 AND :text LIKE ALL (:patterns)
