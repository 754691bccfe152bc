-- owner: media
-- Uploaded files. All that concerns a file is in the slot of its uploader, which is the last byte of its id.

CREATE TABLE media.objects (
    slot        smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    id          uuid        NOT NULL,
    uploader    text        COLLATE "C" NOT NULL,
    state       smallint    NOT NULL CHECK (state BETWEEN 1 AND 5),
    name        text        NOT NULL,
    -- As the client gave it (tus, `Upload-Metadata`).
    metadata    text        NOT NULL,
    -- Of what was announced, until the file is ready: then of what is kept.
    size        bigint      NOT NULL CHECK (size >= 0),
    -- The bytes that are certain to be on the disk.
    received    bigint      NOT NULL DEFAULT 0 CHECK (received BETWEEN 0 AND size),
    -- Which request writes it: a later one takes it over.
    claim       bigint      NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    -- When somebody has to look at it again; NULL: nobody.
    due_at      timestamptz,
    attempts    smallint    NOT NULL DEFAULT 0,
    -- Names the files in which the content and its thumbnails are.
    version     bigint,
    type        text,
    sha256      text,
    reason      text,
    width       integer,
    height      integer,
    duration_ms bigint,
    thumbhash   text,
    -- JSON arrays.
    waveform    text,
    thumbnails  text,
    PRIMARY KEY (id, slot)
);
ALTER TABLE media.objects ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;
CREATE INDEX objects_by_uploader ON media.objects (uploader, slot);
CREATE INDEX objects_processing ON media.objects (slot) WHERE state = 2;
CREATE INDEX objects_due ON media.objects (due_at, slot) WHERE due_at IS NOT NULL;

-- Which messages of its uploader were to carry a file.
CREATE TABLE media.carriers (
    slot            smallint    NOT NULL,
    media_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    attached_at     timestamptz NOT NULL,
    -- Whether the message was found to carry it.
    is_sent         boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (media_id, conversation_id, message_id, slot),
    FOREIGN KEY (media_id, slot) REFERENCES media.objects (id, slot) ON DELETE CASCADE
);

-- The bytes that a user's uploads announced on a day (UTC).
CREATE TABLE media.usage (
    slot    smallint NOT NULL CHECK (slot BETWEEN 0 AND 255),
    user_id text     COLLATE "C" NOT NULL,
    day     date     NOT NULL,
    bytes   bigint   NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (user_id, day, slot)
);

-- What signed addresses are signed with: all media services have the same.
CREATE TABLE media.signing_key (
    key text NOT NULL
);
-- 244 random bits.
INSERT INTO media.signing_key (key) VALUES (gen_random_uuid()::text || gen_random_uuid()::text);
