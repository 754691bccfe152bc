"""PostgreSQL's primary dies and its synchronous standby takes over: nothing acknowledged is lost or doubled."""

import asyncio

import pytest
from client import new_id
from crowd import gather_crowd, until
from servers import Servers
from system import System


WAITING = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name LIKE '%store-writer'"
"""The commits of stores that wait for the standby."""


class Pair:
    """A system on a primary and its synchronous standby."""

    def __init__(self):
        self.servers = Servers()
        self.primary = self.servers.create("one")
        self.standby = self.servers.clone("two", self.primary)
        self.primary.configure("synchronous_standby_names = 'two'")
        self.primary.reload()
        hosts = f"{self.primary.directory},{self.standby.directory}"
        self.system = System(instances=2, database=f"host={hosts} port=5432 dbname=parley user=postgres")

    def remove(self):
        self.system.remove()
        self.servers.remove()

    def waiting_writers(self) -> int:
        return int(self.primary.sql(f"SELECT count(*) {WAITING}"))

    def logs(self) -> str:
        return "".join(log.read_text() for log in (self.system.state / "logs").glob("store-*.log"))


@pytest.fixture
def pair():
    pair = Pair()
    try:
        pair.system.up()
        yield pair
    finally:
        pair.remove()


async def test_the_standby_takes_over_under_load(pair, people):
    crowd = await gather_crowd(pair.system, people)
    sending = crowd.begin()
    await crowd.is_under_way()
    pair.primary.kill()
    pair.standby.promote()
    await sending
    await crowd.expect_everything_once()


async def test_the_heartbeats_of_the_stores_do_not_wait_for_a_standby(pair):
    pair.standby.stop()
    stopped = pair.primary.sql("SELECT clock_timestamp()")
    beats = f"SELECT count(*) FROM store.services WHERE seen_at > '{stopped}'::timestamptz + interval '1 second'"
    await until(lambda: pair.primary.sql(beats) == "2")
    assert pair.waiting_writers() == 0


@pytest.mark.parametrize("end", ["pg_cancel_backend", "pg_terminate_backend"])
async def test_a_commit_that_no_longer_waits_for_the_standby_is_not_acknowledged(pair, people, end):
    """PostgreSQL calls it a success: it is committed here, but would be missing after a failover."""
    [alice] = people(pair.system, 1)
    conversation = await alice.create_group()
    session = await alice.connect()
    pair.standby.stop()
    id = new_id()
    sending = asyncio.create_task(alice.send_until_answered(conversation, "is it there?", id=id))

    stored = f"SELECT count(*) FROM store.messages WHERE id = '{id}'"
    ended = 0
    while ended < 6 or pair.primary.sql(stored) == "0":
        await until(lambda: pair.waiting_writers() > 0)
        pair.primary.sql(f"SELECT {end}(pid) {WAITING}")
        ended += 1
    # Its repetitions find the message, and wait as well.
    await until(lambda: pair.waiting_writers() > 0)
    assert not sending.done(), sending.result()

    pair.standby.start()
    answer = await sending
    assert answer.status in (200, 201)
    assert [message["id"] for message in await alice.history(conversation)] == [id]
    assert pair.logs().count("batch failed") > 0
    # Nobody announced it; the session learns of it from digests that tell of a doubt.
    await session.reach(conversation, 2, within=30)
