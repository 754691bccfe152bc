"""A system is upgraded while it is used: nothing is lost, doubled or misread, whatever versions meet."""

import asyncio
import re
import signal

import aiohttp
import pytest
from client import Session
from crowd import gather_crowd, until
from newer import NewerPeers
from system import EXECUTABLES, SERVICES

REFUSED = "parley_bus_frames_refused_total"


async def metric(system, service: str, number: int, name: str) -> float:
    async with aiohttp.ClientSession() as http, http.get(f"{system.address(service, number)}/metrics") as answer:
        return float(re.search(rf"^{name} (\S+)$", await answer.text(), re.MULTILINE)[1])


async def test_frames_of_the_next_version_are_refused_and_counted_and_nothing_is_lost(double, people):
    processes = [(service, number) for service in SERVICES for number in range(2)]
    before = {process: await metric(double, *process, REFUSED) for process in processes}
    with NewerPeers(double.state / "run") as peers:
        deaf = processes
        while deaf:
            crowd = await gather_crowd(double, people)
            await crowd.begin()
            await crowd.expect_everything_once()
            await read_everything(crowd)
            deaf = [process for process in processes if await metric(double, *process, REFUSED) == before[process]]
        # media says something when a message carries files, and here none does.
        assert all(peer.spoken > 0 for role, peer in peers.items() if role != "media")


async def read_everything(crowd):
    """Each user has read each conversation, and the sender of a message is told so."""
    last = 1 + crowd.EACH * len(crowd.users)
    for conversation in crowd.conversations:
        for user in crowd.users:
            read = await user.request("POST", f"/v1/conversations/{conversation}/receipts", {"readSeq": last})
            assert read.status == 202
        messages = await crowd.users[0].history(conversation)
        own = [message for message in messages if message["senderId"] == crowd.users[0].name]
        assert {message["status"] for message in own} == {"read"}


@pytest.mark.kills
@pytest.mark.parametrize("service", SERVICES)
async def test_processes_are_replaced_one_by_one_while_everybody_sends(double, people, service):
    crowd = await gather_crowd(double, people)
    crowd.session = follower = Follower(crowd)
    sending = crowd.begin()
    await crowd.is_under_way()
    for number in range(2):
        double.signal(service, number, signal.SIGTERM)
        await until(lambda n=number: not double.is_up(service, n))
        if service == "fanout":
            await follower.resume(instance=1 - number)
        await asyncio.to_thread(double.revive)
    await sending
    await crowd.expect_everything_once()


class Follower(Session):
    """A client of a crowd that resumes, with the positions it has, when its session has ended."""

    def __init__(self, crowd):
        self._user = crowd.users[0]
        self._conversations = crowd.conversations
        self._sessions = [crowd.session]

    @property
    def frames(self) -> list[dict]:
        return [frame for session in self._sessions for frame in session.frames]

    async def resume(self, instance: int):
        assert await self._sessions[-1].ended() == 1001
        cursors = {conversation: (self.positions(conversation) or [1])[-1] for conversation in self._conversations}
        self._sessions.append(await self._user.connect(instance=instance, cursors=cursors))

    async def say(self, type: str, **fields):
        await self._sessions[-1].say(type, **fields)

    async def until(self, condition, **options):
        return await self._sessions[-1].until(condition, **options)


@pytest.mark.kills
async def test_running_services_go_on_behind_the_next_migration_and_old_ones_start_where_it_says_so(double, people):
    database = (double.state / "run" / "owner-database").read_text().strip()

    async def sql(*statements: str):
        words = [word for statement in statements for word in ("-c", statement)]
        process = await asyncio.create_subprocess_exec("psql", "-Xq", "--set=ON_ERROR_STOP=1", "-1", *words, database)
        assert await process.wait() == 0

    crowd = await gather_crowd(double, people)
    sending = crowd.begin()
    await crowd.is_under_way()
    await sql(
        "SET LOCAL lock_timeout = '20s'",
        "ALTER TABLE store.messages ADD COLUMN weather text",
        "CREATE TABLE store.weather (slot smallint PRIMARY KEY)",
        "INSERT INTO store.migrations (number, name, checksum) VALUES (9999, 'weather', '')",
    )
    try:
        await sending
        await crowd.expect_everything_once()
        for command in ([], ["migrate"]):
            old = double.run(EXECUTABLES / "store", *command, PARLEY_DATABASE_URL=database)
            assert old.returncode == 1 and "9999" in old.stdout, old.stdout

        known = "SELECT max(number) FROM store.migrations_beside"
        await sql(
            "INSERT INTO store.migrations_beside (number, name, checksum, compatible_from)"
            f" SELECT number, name, checksum, ({known}) FROM store.migrations WHERE number = 9999",
            "DELETE FROM store.migrations WHERE number = 9999",
        )
        old = double.run(EXECUTABLES / "store", "migrate", PARLEY_DATABASE_URL=database)
        assert old.returncode == 0 and "up to date" in old.stdout, old.stdout
        crowd = await gather_crowd(double, people)
        sending = crowd.begin()
        await crowd.is_under_way()
        for number in range(2):
            double.signal("store", number, signal.SIGTERM)
            await until(lambda n=number: not double.is_up("store", n))
            await asyncio.to_thread(double.revive)
        await sending
        await crowd.expect_everything_once()
    finally:
        await sql(
            "DELETE FROM store.migrations WHERE number = 9999",
            "DELETE FROM store.migrations_beside WHERE number = 9999",
            "ALTER TABLE store.messages DROP COLUMN weather",
            "DROP TABLE store.weather",
        )
