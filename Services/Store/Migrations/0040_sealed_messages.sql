-- parley: compatible from 11
-- owner: store

-- 4: sealed. `body` is then what its sender has encrypted, in base64. Not validated, as in 0014.
ALTER TABLE store.messages DROP CONSTRAINT messages_kind_check;
ALTER TABLE store.messages ADD CONSTRAINT messages_kind_check CHECK (kind BETWEEN 1 AND 4) NOT VALID;
