-- The ids of the files that a message in a row carries, with commas between them; NULL of none.
--
-- :row
(SELECT string_agg(a.file ->> 'id', ',' ORDER BY a.place)
 FROM json_array_elements(:row.attachments::json) WITH ORDINALITY AS a(file, place))
