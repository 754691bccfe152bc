-- The last number of a revocation in a slot, of users or of devices, or of a suspension.
--
-- :user_slot
greatest(
    coalesce((SELECT max(o.number) FROM store.revocations o WHERE o.user_slot = :user_slot), 0),
    coalesce((SELECT max(o.number) FROM store.device_revocations o WHERE o.user_slot = :user_slot), 0),
    coalesce((SELECT max(o.number) FROM store.suspensions o WHERE o.user_slot = :user_slot), 0))
