-- Whether the request `r` to join waits for a decision.
({is_kept_join_request} AND NOT (r.is_declined OR r.is_withdrawn))
