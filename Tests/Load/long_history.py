"""Fills the database of a system with a long history, as its services would have left it had all of it been sent.

A thousand direct conversations are made through the API, so everything that belongs to a conversation and its members
is there. Their messages are then written by SQL, spread over them in the order of time, with ids of version 7; and
beside them what comes with messages: the positions, a reading of each member for every ten of them, what the members'
devices were told of these, and the index of the search. That has a thousand texts of each conversation at most, but for
those that are to be searched: to index ten million takes longer than all the rest, and senders do not wait for it.
Everything counts as indexed.
"""

import subprocess
import tempfile
import time

import floors
from system import EXECUTABLES, System

CONVERSATIONS = 1000
# Messages that one reading passes.
READING = 10
# Texts in the index of the search at most, in each conversation that is not one of those to be searched.
INDEXED = 1000
# Messages of one statement, in each conversation.
PART = 100


class LongHistory:
    def __init__(self, system: System, searched: int = 0):
        """`searched`: so many conversations, those with the lowest numbers, have all of their texts in the index."""
        self.system, self.searched = system, searched
        # In each conversation.
        self.length = 0
        options = ["--pairs", CONVERSATIONS, "--online", 0, "--rate", 10, "--duration", "1s", "--warmup", "0s"]
        subprocess.run(
            [EXECUTABLES / "parley", "load", "pairs", *map(str, options)],
            env=system.environment,
            check=True,
            capture_output=True,
        )
        floors.psql(system, CONVERSATION_TABLE)

    def grow(self, messages: int, days_ago: int = 0):
        """Until there are so many: a thousand times a multiple of ten. The new ones were sent so long ago."""
        first, end = self.length, messages // CONVERSATIONS
        if first == end:
            return
        parts = [(start, min(start + PART, end)) for start in range(first, end, PART)]
        self._in_halves(
            MESSAGES.format(half="{half}", days_ago=days_ago, first=start, end=stop) for start, stop in parts
        )
        self._in_halves(READINGS.format(half="{half}", first=start, end=stop) for start, stop in parts)
        floors.psql(self.system, POSITIONS.format(end=end))
        self._index(first, end)
        # As autovacuum would have.
        for table in ("store.messages", "store.search_blocks", "receipt.receipt_runs", "receipt.horizons"):
            floors.psql(self.system, f"VACUUM (ANALYZE) {table}")
        floors.psql(self.system, "CHECKPOINT")
        self.length = end

    def _index(self, first: int, end: int):
        indexed = min(end, INDEXED)
        whole = (self.searched, max(first, INDEXED), end)
        parts = [
            (count, start, min(start + PART, stop))
            for count, begin, stop in ((CONVERSATIONS, first, indexed), whole)
            for start in range(begin, stop if count else begin, PART)
        ]
        if not parts:
            return
        self._in_halves(TEXTS.format(half="{half}", count=count, first=start, end=stop) for count, start, stop in parts)
        # Stores look for what lacks its filter when they take slots over.
        self.system.stop()
        self.system.up()
        while floors.psql(self.system, "SELECT EXISTS (SELECT FROM store.search_blocks WHERE filter IS NULL)") != "f":
            time.sleep(0.5)

    def _in_halves(self, statements):
        """Each half of the conversations in a session of its own: two processors write more than one."""
        script = ";\n".join(statements)
        self._at_once([script.replace("{half}", str(half)) for half in (0, 1)])

    def _at_once(self, scripts: list[str]):
        command = [floors.program("psql"), "-h", floors.socket_directory(self.system), "-U", "postgres", "-qAt"]
        sessions = [
            subprocess.Popen(
                [*command, "-v", "ON_ERROR_STOP=1", "parley"],
                stdin=file_of(script),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for script in scripts
        ]
        try:
            for session in sessions:
                errors = session.stderr.read()
                assert session.wait() == 0, errors
        finally:
            for session in sessions:
                session.kill()
                session.wait()


def file_of(script: str):
    """To be read from its beginning. Through a pipe a session would begin when the one before has read its script."""
    file = tempfile.TemporaryFile("w+")
    file.write(script)
    file.seek(0)
    return file


# `base`: the position behind which the messages of message 0 on come. `n` counts the conversations.
CONVERSATION_TABLE = """
    CREATE TABLE public.growth AS
        SELECT row_number() OVER (ORDER BY c.id) - 1 AS n, c.slot, c.id, c.last_seq AS base,
            array_agg(m.user_id ORDER BY m.user_id) AS members
        FROM store.conversations c JOIN store.memberships m ON m.slot = c.slot AND m.conversation_id = c.id
        GROUP BY c.slot, c.id, c.last_seq
"""

# In the order of time, as they would have come: the next of each conversation, in turn. Texts are ten of 4,096 words.
MESSAGES = """
    INSERT INTO store.messages
        (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
    SELECT g.slot, g.id, g.base + 1 + k, (lpad(to_hex(t.ms), 12, '0') || '7' || substr(t.random, 1, 3) || '8'
            || substr(t.random, 4, 15))::uuid, g.base + 1 + k, g.members[1 + (k / 2) % 2], 1,
        concat_ws(' ', TEXT), t.at, t.at
    FROM generate_series({first}::bigint, {end} - 1) k
    CROSS JOIN LATERAL (SELECT * FROM public.growth WHERE n % 2 = {half} AND k >= 0 ORDER BY n OFFSET 0) g
    CROSS JOIN LATERAL (
        SELECT date_trunc('milliseconds', c.now) AS at, (extract(epoch FROM c.now) * 1000)::bigint AS ms,
            md5(g.id::text || k) AS random
        FROM (SELECT clock_timestamp() - interval '{days_ago} days' AS now) c
    ) t
""".replace("TEXT", ", ".join(f"substr(t.random, {1 + 3 * word}, 3)" for word in range(10)))

# Delivered and read at the same time (kind 3), once for each ten messages. The first also passes what came before.
READINGS = f"""
    INSERT INTO receipt.receipt_runs (slot, conversation_id, user_id, kind, from_seq, to_seq, at)
    SELECT g.slot, g.id, u.user_id, 3, CASE WHEN k = 0 THEN 1 ELSE g.base + 1 + k END, g.base + {READING} + k,
        date_trunc('milliseconds', now())
    FROM generate_series({{first}}::bigint, {{end}} - 1, {READING}) k
    CROSS JOIN LATERAL (SELECT * FROM public.growth WHERE n % 2 = {{half}} AND k >= 0 ORDER BY n OFFSET 0) g
    CROSS JOIN LATERAL unnest(g.members) u(user_id)
"""

# The ends of everything. The members' devices were told of the last reading.
POSITIONS = f"""
    BEGIN;
    UPDATE store.conversations c SET last_seq = g.base + {{end}}, last_at = date_trunc('milliseconds', now())
        FROM public.growth g WHERE c.slot = g.slot AND c.id = g.id;
    INSERT INTO receipt.positions (slot, conversation_id, status_version, last_at)
        SELECT slot, id, 2 * {{end}} / {READING}, date_trunc('milliseconds', now()) FROM public.growth
        ON CONFLICT (conversation_id, slot) DO UPDATE
            SET status_version = excluded.status_version, last_at = excluded.last_at;
    INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
        SELECT slot, id, unnest(members), base + {{end}}, base + {{end}}, base + {{end}}, 2 * {{end}} / {READING}
        FROM public.growth
        ON CONFLICT (conversation_id, user_id, slot) DO UPDATE SET delivered_seq = excluded.delivered_seq,
            read_seq = excluded.read_seq, shown_seq = excluded.shown_seq, version = excluded.version;
    UPDATE store.inbox i SET told_read_seq = g.base + {{end}}
        FROM public.growth g WHERE i.slot = g.slot AND i.conversation_id = g.id;
    WITH moved AS (
        UPDATE store.user_streams s SET last_useq = s.last_useq + 1
        FROM (SELECT *, unnest(members) AS user_id FROM public.growth) g WHERE s.user_id = g.user_id
        RETURNING s.user_slot, s.user_id, s.last_useq, g.slot, g.id, g.base
    )
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
        SELECT user_slot, user_id, last_useq, 5, date_trunc('milliseconds', now()), slot, id, base + {{end}} FROM moved;
    INSERT INTO store.search_positions (slot, conversation_id, indexed_seq)
        SELECT slot, id, base + {{end}} FROM public.growth
        ON CONFLICT (conversation_id, slot) DO UPDATE SET indexed_seq = excluded.indexed_seq;
    COMMIT
"""

# The texts are as they are compared already: without case, and with single spaces.
TEXTS = """
    INSERT INTO store.search_blocks AS b (slot, conversation_id, block, part, latest, seqs, ats, texts)
    SELECT m.slot, m.conversation_id, m.seq / 64, 0, max(m.created_at), array_agg(m.seq), array_agg(m.created_at),
        array_agg(' ' || m.body || ' ')
    FROM public.growth g
    JOIN store.messages m ON m.slot = g.slot AND m.conversation_id = g.id
        AND m.seq > g.base + {first} AND m.seq <= g.base + {end}
    WHERE g.n % 2 = {half} AND g.n < {count}
    GROUP BY m.slot, m.conversation_id, m.seq / 64
    ON CONFLICT (conversation_id, block, part, slot) DO UPDATE
        SET filter = NULL, latest = excluded.latest, seqs = b.seqs || excluded.seqs, ats = b.ats || excluded.ats,
            texts = b.texts || excluded.texts
"""
