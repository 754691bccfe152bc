-- Whether a transaction is that of a cursor, of which the lower 32 bits count, or a later one. Ages are measured against one
-- counter for the whole transaction, so they compare exactly.
--
-- :xmin
-- :transaction
age(:xmin) <= age((:transaction & 4294967295)::text::xid)
