-- owner: receipt
-- parley: compatible from 5
-- What a receipt service that takes slots over has to look at: conversations in which somebody's devices may not have been
-- told yet how far their user has read (`WorkNotes` in Shared/Slots). A row is written in the transaction that moves a
-- horizon, unless its writer has noted the conversation already, and goes a while after all is told. `noted_by` is another
-- number for every writer, and every time it begins anew.
CREATE TABLE receipt.untold (
    slot            smallint NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid     NOT NULL,
    noted_by        bigint   NOT NULL,
    PRIMARY KEY (slot, conversation_id, noted_by)
);
-- Where it is the epoch of the slot, everything is told or noted. Owners of older versions note nothing, and leave it
-- behind.
ALTER TABLE receipt.slots ADD COLUMN noted_epoch bigint NOT NULL DEFAULT -1;
