-- Whether the request `r` to join still counts. Those that nobody has decided go as those that were declined, so that who asked
-- does not learn of it.
(r.requested_at > (SELECT {ChangeTime.now}) - {ContractLimits.joinRequestLifetime})
