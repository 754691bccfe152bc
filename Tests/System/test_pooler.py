"""Everything works through pgbouncer in session mode: locks, prepared statements and settings are a session's."""

import pytest
from crowd import gather_crowd
from servers import Servers
from system import System


@pytest.fixture(scope="module")
def pooled():
    servers = Servers()
    socket = servers.pooler(servers.create("one"))
    system = System(instances=2, database=f"host={socket} port=6432 dbname=parley user=parley")
    try:
        system.up()
        yield system
    finally:
        system.remove()
        servers.remove()


async def test_a_store_behind_a_pooler_dies_and_the_other_takes_its_slots(pooled, people):
    crowd = await gather_crowd(pooled, people)
    sending = crowd.begin()
    await crowd.is_under_way()
    pooled.kill("store", 1)
    await sending
    await crowd.expect_everything_once()
    pooled.revive()


async def test_receipts_and_history_come_through_a_pooler(pooled, people):
    alice, bob = people(pooled, 2)
    conversation = await alice.create_group(bob)
    message = await alice.sent(conversation, "through the pool")
    session = await alice.connect()
    read = await bob.request("POST", f"/v1/conversations/{conversation}/receipts", {"readSeq": message["seq"]})
    assert read.status == 202
    await session.next("status", where=lambda frame: frame.get("read", {}).get(bob.name) == message["seq"])
    assert (await alice.history(conversation))[-1]["status"] == "read"
