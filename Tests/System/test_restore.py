"""A backup is restored into a new system: clients start anew, and everything else is as it was."""

import subprocess

import pytest
from client import new_id
from digests import expect_equal_digests
from servers import POSTGRESQL, Servers
from system import EXECUTABLES, System


@pytest.fixture
def servers():
    servers = Servers()
    try:
        yield servers
    finally:
        servers.remove()


def url(server) -> str:
    return f"host={server.directory} port=5432 dbname=parley user=postgres"


@pytest.mark.parametrize("partitions", [None, 4])
async def test_clients_of_a_restored_system_are_told_to_start_anew(servers, people, partitions):
    old, new = servers.create("old"), servers.create("new")
    before = System(database=url(old), partitions=partitions)
    after = System(database=url(new))
    try:
        before.up()
        [alice] = people(before, 1)
        conversation = await alice.create_group()
        kept = await alice.sent(conversation, "in the backup")
        dump = old.directory / "backup"
        old.run("pg_dump", "--format=custom", f"--file={dump}", "--dbname", url(old))
        lost = await alice.sent(conversation, "after the backup")
        logs = (await alice.connect()).welcome["logId"]
        synced = (await alice.get("/v1/sync"))["cursor"]

        # While services run, the database is not renamed under them.
        refused = before.run(EXECUTABLES / "store", "restored", PARLEY_DATABASE_URL=url(old))
        assert refused.returncode == 1 and "stop all services" in refused.stdout

        restored = subprocess.run(
            [EXECUTABLES / "parley", "restore", dump],
            env=after.environment | {"PATH": f"{POSTGRESQL}:{after.environment['PATH']}"},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=100,
        )
        assert restored.returncode == 0, restored.stdout
        after.up()

        alice.system = after
        session = await alice.connect(logId=logs, cursors={conversation: lost["seq"]})
        assert session.welcome["logId"] != logs
        await session.next("reset")
        assert [message["id"] for message in await alice.history(conversation)] == [kept["id"]]
        again = await alice.request("GET", "/v1/sync", params={"since": synced})
        assert (again.status, again.code) == (409, "conflict")

        sent = await alice.sent(conversation, "life goes on", id=(id := new_id()))
        assert (await alice.send(conversation, "life goes on", id=id)).status == 200
        assert sent["seq"] == kept["seq"] + 1
        await session.reach(conversation, sent["seq"])
        await expect_equal_digests(alice, conversation)
    finally:
        before.remove()
        after.remove()
