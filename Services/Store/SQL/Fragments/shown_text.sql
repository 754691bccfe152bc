-- What a preview shows of a message in a row: its text, else what its first attachment is.
--
-- :row
-- :text
CASE WHEN :row.attachments IS NULL THEN :text ELSE coalesce(nullif(:text, ''),
    CASE split_part(:row.attachments::json -> 0 ->> 'type', '/', 1)
        WHEN 'image' THEN 'Photo' WHEN 'video' THEN 'Video' WHEN 'audio' THEN 'Audio'
        ELSE :row.attachments::json -> 0 ->> 'name' END) END
