"""One client that takes as much as it is given, beside all the others: what does it cost these?"""

import asyncio
import contextlib
import json
import statistics
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from client import User, new_id

from faults.book import Write
from faults.machine import Machine

END_SECONDS = 20.0
SAMPLES = 30
"""Writes that a user must have made before and meanwhile for a percentile of their own."""


@dataclass
class Measured:
    """What one kind of abuse did, and what the other users felt of it."""

    name: str
    start: float
    end: float = 0
    counts: dict[str, int] = field(default_factory=dict)
    """How often the abuser got which status, or what else happened to its connections."""
    grown: dict[str, int] = field(default_factory=dict)
    """By how many bytes the memory of each service was larger meanwhile, at most."""


class Abuser:
    """A user with many conversations and a long history of their own, and the program that acts for them."""

    def __init__(self, machine: Machine, user: User, conversation: str):
        self.machine = machine
        self.user = user
        self.conversation = conversation

    @classmethod
    async def prepare(cls, scene, *, conversations: int, messages: int) -> "Abuser":
        """Makes the user, and by SQL what would take hours to type."""
        user = User(scene.load.system, f"abuser-{new_id()[:8]}", scene.load.http)
        other = User(scene.load.system, f"victim-{new_id()[:8]}", scene.load.http)
        conversation = await scene.load.create(user, other)
        await scene.database.sql(CONVERSATIONS.format(user=user.name, first=conversation, count=conversations))
        await scene.database.sql(MESSAGES.format(user=user.name, id=conversation, count=messages))
        await scene.database.sql("VACUUM (ANALYZE) store.messages, store.inbox, store.conversations, store.memberships")
        return cls(scene.machine, user, conversation)

    @contextlib.asynccontextmanager
    async def acting(self, act: str, measured: Measured) -> AsyncIterator[None]:
        """Runs the program; afterwards `measured` has what came back, and how much memory it took."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "faults.abuser", cwd=Path(__file__).parents[1],
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        watching = asyncio.create_task(self._watch_memory(measured.grown))
        process.stdin.write(json.dumps(self._orders(act)).encode() + b"\n")
        try:
            yield
        finally:
            watching.cancel()
            measured.counts = await _end(process)

    def _orders(self, act: str) -> dict:
        system = self.machine.system
        addresses = {f"{name}s": [system.address(name, n) for n in range(system.instances)] for name in EDGES}
        identity = {"user": self.user.name, "token": self.user.token, "conversation": self.conversation}
        return addresses | identity | {"act": act}

    async def _watch_memory(self, grown: dict[str, int]):
        first = self._memory()
        while True:
            for name, size in self._memory().items():
                service = name.split("-")[0]
                grown[service] = max(grown.get(service, 0), size - first[name])
            await asyncio.sleep(0.2)

    def _memory(self) -> dict[str, int]:
        return {name: _resident_bytes(pid) for name, pid in self.machine.system.pids().items()}


async def _end(process: asyncio.subprocess.Process) -> dict[str, int]:
    """What it counted. On a machine so busy that it is not heard in time it ends without."""
    process.stdin.close()
    try:
        said, _ = await asyncio.wait_for(process.communicate(), END_SECONDS)
        return json.loads(said)
    except TimeoutError:
        process.kill()
        await process.wait()
        return {}


def _resident_bytes(pid: int) -> int:
    """0: there is no such process at the moment."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except FileNotFoundError:
        return 0


def table(measured: list[Measured], writes: list[Write], calm: float) -> str:
    """One line for each kind. Latencies in milliseconds; those before are the medians of the calms before all of them,
    because one kind's harm may last into the calm of the next."""
    calms = [_begun(writes, each.start - calm, each.start) for each in measured]
    lines = [
        "| what one client does | what it got | others before: p50 / p99 ms | meanwhile "
        "| p99 grew by | the p90 of the user it hurt most by | memory grew by, MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + [_row(each, calms, _begun(writes, each.start, each.end)) for each in measured])


def _begun(writes: list[Write], start: float, end: float) -> list[Write]:
    return [write for write in writes if write.is_acknowledged and start <= write.begun < end]


def _row(measured: Measured, calms: list[list[Write]], meanwhile: list[Write]) -> str:
    counts = ", ".join(f"{count:,} × {name}" for name, count in sorted(measured.counts.items())) or "–"
    grown = ", ".join(f"{name} {size / 2**20:.0f}" for name, size in measured.grown.items())
    cells = [
        measured.name, counts, _latencies(calms), _latencies([meanwhile]), _growth(calms, meanwhile, 0.99),
        _worst_growth(calms, meanwhile), grown,
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _taken(parts: list[list[Write]], share: float) -> float | None:
    """A percentile of the milliseconds from the first attempt to the acknowledgement; the median of the parts' ones."""
    percentiles = []
    for writes in filter(None, parts):
        taken = sorted(1000 * (write.answered - write.begun) for write in writes)
        percentiles.append(taken[min(len(taken) - 1, int(share * len(taken)))])
    return statistics.median(percentiles) if percentiles else None


def _latencies(parts: list[list[Write]]) -> str:
    return f"{_taken(parts, 0.5):.0f} / {_taken(parts, 0.99):.0f}" if any(parts) else "–"


def _growth(calms: list[list[Write]], meanwhile: list[Write], share: float) -> str:
    return f"× {_taken([meanwhile], share) / _taken(calms, share):.1f}" if any(calms) and meanwhile else "–"


def _worst_growth(calms: list[list[Write]], meanwhile: list[Write]) -> str:
    """One user's writes are too few for a p99 of their own."""
    ratios = []
    for user in {write.user for write in meanwhile}:
        before = [write for calm in calms for write in calm if write.user == user]
        own = [write for write in meanwhile if write.user == user]
        if min(len(before), len(own)) >= SAMPLES:
            ratios.append(_taken([own], 0.9) / _taken([before], 0.9))
    return f"× {max(ratios):.1f}" if ratios else "–"


EDGES = ("ingest", "fanout")

# In further groups the user is alone. The last byte of a conversation's id is its slot; that of the user is read.
CONVERSATIONS = """
    BEGIN;
    CREATE TEMP TABLE made ON COMMIT DROP AS
    SELECT get_byte(uuid_send(id), 15)::smallint AS slot, id, at FROM (
        SELECT gen_random_uuid() AS id, date_trunc('milliseconds', clock_timestamp()) AS at
        FROM generate_series(1, {count}) OFFSET 0) n;
    CREATE TEMP TABLE their ON COMMIT DROP AS
    SELECT user_slot FROM store.inbox WHERE user_id = '{user}' AND conversation_id = '{first}';
    INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
    SELECT slot, id, 1, '{user}', at, 1, at, 1 FROM made;
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at)
    SELECT slot, id, 1, 8, '{user}', at FROM made;
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
    SELECT slot, id, '{user}', 1, 2 FROM made;
    INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
    SELECT user_slot, '{user}', id, slot FROM made, their;
    COMMIT
"""
# Own messages behind the position that the user has read; the index of the search has nothing to do with them.
MESSAGES = """
    BEGIN;
    INSERT INTO store.messages
        (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
    SELECT c.slot, c.id, c.last_seq + n, gen_random_uuid(), c.last_seq + n, '{user}', 1, 'again', c.last_at, c.last_at
    FROM store.conversations c, generate_series(1, {count}) n WHERE c.id = '{id}';
    UPDATE store.conversations SET last_seq = last_seq + {count} WHERE id = '{id}';
    INSERT INTO store.search_positions (slot, conversation_id, indexed_seq)
    SELECT slot, id, last_seq FROM store.conversations WHERE id = '{id}'
    ON CONFLICT (conversation_id, slot) DO UPDATE SET indexed_seq = excluded.indexed_seq;
    COMMIT
"""
