-- A row `r` of store.reports.
--
-- > conversation_id uuid
-- > id              uuid
-- > reporter_id     text           NULL: they were erased
-- > reason          smallint       ReportReason
-- > text            text           or NULL
-- > created_at      timestamptz
-- > message_id      uuid           or NULL
-- > user_id         text           or NULL
-- > sender_id       text           NULL, like what follows of the message: none is reported, or its sender was erased
-- > message_text    text           or NULL
-- > message_at      timestamptz
-- > media           text           ids with commas between them, or NULL
-- > action          smallint       ReportAction; NULL, like what follows: it is open
-- > note            text           or NULL
-- > resolver_id     text
-- > resolved_at     timestamptz
r.conversation_id, r.id, r.reporter_id, r.reason, r.text, r.created_at, r.message_id, r.user_id, r.sender_id, r.message_text,
    r.message_at, r.media, r.action, r.note, r.resolver_id, r.resolved_at
