-- Whether the invitation `i` has neither expired nor been used up.
(coalesce(i.expires_at > {ChangeTime.now}, true) AND coalesce(i.uses < i.max_uses, true))
