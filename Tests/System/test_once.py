"""A write that a client sends once happens once, also without an `Idempotency-Key`.

`ingest` repeats a request that is not answered within 100 ms, so one may reach the store behind the answer.
Here it does: `ingest` stands still until the answer is there, and the first that it does then is what it should have
done meanwhile. Behind that comes another write, which the repetition would undo.
"""

import asyncio
import signal

import pytest
from client import new_id
from faults.database import Database
from servers import Server
from system import System

ROUNDS = 2
LOCKED = """
BEGIN;
SELECT FROM store.conversations FOR UPDATE;
SELECT FROM store.user_streams FOR UPDATE;
SELECT pg_sleep(0.4);
COMMIT
"""


@pytest.fixture
def slow():
    """A system, and the server of its database."""
    database = Database()
    system = System(instances=1, database=database.url)
    try:
        system.up()
        yield system, database.server
    finally:
        system.remove()
        database.remove()


async def test_a_write_sent_once_happens_once_though_its_request_comes_again_behind_the_answer(slow, people):
    system, server = slow
    alice, bob, carol = people(system, 3)
    conversation = await alice.create_group(bob, carol)
    message = (await alice.sent(conversation, "first"))["id"]
    base = f"/v1/conversations/{conversation}"
    for number in range(ROUNDS):
        for user, first, second, positions in pairs(alice, bob, carol, base, message, number):
            before = (await alice.conversation(conversation))["lastSeq"]
            assert (await answered_late(system, server, user.request(*first))).status < 300, first
            assert (await user.request(*second)).status < 300, second
            await asyncio.sleep(0.2)
            after = (await alice.conversation(conversation))["lastSeq"]
            assert after - before == positions, (first, second)
        assert (await bob.get(f"{base}/messages"))["messages"], "what came behind the clearing is there"
        assert (await alice.get("/v1/settings"))["readReceipts"] is True
        assert (await alice.get(f"{base}/settings"))["readReceipts"] is True


async def answered_late(system: System, server: Server, request):
    """Has ingest stand still from when it has published the request until the store has answered it."""
    lock = await locked(server)
    asked = asyncio.create_task(request)
    await asyncio.sleep(0.05)
    system.signal("ingest", 0, signal.SIGSTOP)
    try:
        await lock
        await asyncio.sleep(0.15)
    finally:
        system.signal("ingest", 0, signal.SIGCONT)
    return await asked


async def locked(server) -> asyncio.Task:
    """Has somebody else take the locks for a while. Begins again if the while was over before that was seen."""
    while True:
        lock = asyncio.create_task(asyncio.to_thread(server.sql, LOCKED))
        while not lock.done():
            if "1" in await asyncio.to_thread(
                server.sql,
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND wait_event = 'PgSleep'",
            ):
                return lock
            await asyncio.sleep(0.005)


def pairs(alice, bob, carol, base: str, message: str, number: int):
    """Who writes, what, what behind it, and how many positions of the conversation both take."""
    tapback, member = f"{base}/messages/{message}/tapback", f"{base}/members/{carol.name}"
    text = f"{base}/messages/{message}"
    yield alice, ("PATCH", base, {"title": f"a {number}"}), ("PATCH", base, {"title": f"b {number}"}), 2
    yield alice, ("PATCH", text, {"text": f"a {number}"}), ("PATCH", text, {"text": f"b {number}"}), 2
    yield alice, ("PUT", tapback, {"kind": "love"}), ("PUT", tapback, {"kind": "like"}), 2
    yield alice, ("DELETE", tapback), ("PUT", tapback, {"kind": "laugh"}), 2
    yield alice, ("DELETE", member), ("PUT", member, {}), 2
    yield alice, ("DELETE", member), ("PUT", member, {}), 2
    receipts = [{"readReceipts": shows} for shows in (False, True)]
    yield alice, ("PUT", "/v1/settings", receipts[0]), ("PUT", "/v1/settings", receipts[1]), 0
    yield alice, ("PUT", f"{base}/settings", receipts[0]), ("PUT", f"{base}/settings", receipts[1]), 0
    later = ("POST", f"{base}/messages", {"id": new_id(), "text": "for bob, too"})
    yield bob, ("DELETE", f"{base}/history"), later, 1
