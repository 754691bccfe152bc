-- What a user keeps to themselves about a conversation, from a row `i` of store.inbox.
i.muted_until, i.pin_order, i.archived_seq, i.marked_unread_seq, i.draft_text, i.draft_reply_id, i.draft_at
