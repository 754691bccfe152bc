-- owner: receipt
-- What a user has read and what others are told of it are two things: who sends no read receipts has an own position only.

-- How far the others are told that the user has read. It follows `read_seq` while the user sends read receipts: what was
-- read meanwhile stays untold when they are turned on, what was told stays told when they are turned off.
ALTER TABLE receipt.horizons ADD COLUMN shown_seq bigint NOT NULL DEFAULT 0;
UPDATE receipt.horizons SET shown_seq = read_seq;
ALTER TABLE receipt.horizons ALTER COLUMN shown_seq DROP DEFAULT;
ALTER TABLE receipt.horizons ADD CHECK (shown_seq BETWEEN 0 AND read_seq);

-- 3 delivered and read at the same time: the most frequent advance takes one row. Only what was shown has a run of kind 2
-- or 3. The runs of kinds 1 and 3 together pass each position up to the delivered one once, those of kinds 2 and 3 each
-- position up to the shown one.
ALTER TABLE receipt.receipt_runs DROP CONSTRAINT receipt_runs_kind_check;
ALTER TABLE receipt.receipt_runs ADD CHECK (kind IN (1, 2, 3));
