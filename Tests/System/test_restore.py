"""A backup is restored into a new system: clients start anew, and everything else is as it was."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from client import new_id
from digests import expect_equal_digests
from servers import Server, Servers
from system import EXECUTABLES, System
from test_media import png
from uploads import PATIENCE, Uploader


@pytest.fixture
def servers():
    servers = Servers()
    try:
        yield servers
    finally:
        servers.remove()


def url(server) -> str:
    return f"host={server.directory} port=5432 dbname=parley user=postgres"


def backup(server: Server) -> Path:
    dump = server.directory / "backup"
    server.run("pg_dump", "--format=custom", f"--file={dump}", "--dbname", url(server))
    return dump


def restore(system: System, dump: Path):
    done = subprocess.run(
        [EXECUTABLES / "parley", "restore", dump],
        env=system.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout


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
        dump = backup(old)
        lost = await alice.sent(conversation, "after the backup")
        logs = (await alice.connect()).welcome["logId"]
        synced = (await alice.get("/v1/sync"))["cursor"]

        # While services run, the database is not renamed under them.
        refused = before.run(EXECUTABLES / "store", "restored", PARLEY_DATABASE_URL=url(old))
        assert refused.returncode == 1 and "stop all services" in refused.stdout

        restore(after, dump)
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


def collect(system: System, *options: str) -> str:
    done = subprocess.run(
        [EXECUTABLES / "media", "collect", "--older-than", "0s", *options], env=system.environment_of("media", 0),
        text=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_the_files_of_all_restored_messages_are_there(servers, people):
    """First the database is copied, then the files, while both go on changing; then nothing points to nothing."""
    old, new = servers.create("old"), servers.create("new")
    before, after = System(database=url(old)), System(database=url(new))
    try:
        before.up()
        [alice] = people(before, 1)
        uploader = Uploader(before, alice.name)
        conversation = await alice.create_group()

        async def sent(content: bytes) -> str:
            path = uploader.upload(content)
            await alice.sent(conversation, "see", attachments=[{"id": path.rpartition("/")[2]}])
            return path

        contents = {await sent(content): content for content in (b"note", random.Random(1).randbytes(3_000_000))}
        picture = await sent(png(300, 200))
        halves = [uploader.created(10), uploader.created(10)]
        for half in halves:
            assert uploader.patch(half, 0, b"01234").status_code == 204

        dump = backup(old)
        late = await sent(b"after the backup")
        assert uploader.patch(halves[1], 5, b"56789").status_code == 204
        uploader.ready(halves[1])
        shutil.copytree(before.state / "media", after.state / "media")

        restore(after, dump)
        after.up()
        alice.system = uploader.system = after
        carried = [one["id"] for message in await alice.history(conversation) for one in message["attachments"]]
        assert carried == [path.rpartition("/")[2] for path in [*contents, picture]]
        for path, content in contents.items():
            assert uploader.call("GET", path + "/content").content == content
        for part in ("content", "thumbnail?size=small", "thumbnail?size=large"):
            assert uploader.call("GET", f"{picture}/{part}").status_code == 200
        # What was half there goes on, unless it was completed meanwhile: then it begins anew.
        assert uploader.patch(halves[0], 5, b"56789").status_code == 204
        assert uploader.call("GET", uploader.ready(halves[0]) + "/content").content == b"0123456789"
        assert uploader.patch(halves[1], 5, b"56789").status_code == 404

        said = collect(after)
        for gone in (late, halves[1]):
            assert f"{gone.rpartition('/')[2]}." in said
        assert said.endswith("; 0 missing\n"), said
        files = [file for file in (after.state / "media").rglob("*") if file.is_file()]
        assert len(files) == len(contents) + 3 + 1

        # What is missing after all is named.
        [file] = [file for file in files if file.name.startswith(carried[0])]
        file.unlink()
        assert collect(after, "--dry-run") == f"missing {file.name}\n0 files, 0 bytes; 1 missing\n"
    finally:
        before.remove()
        after.remove()
