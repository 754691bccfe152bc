"""What was deleted is gone: at once from the dump of the database, its statistics and all logs, and after
`parley scrub` from every byte of the database's files.

Markers stand for what people wrote. Before the deletion each is shown to be where it is looked for, so that no test is
blind.
"""

import asyncio
import base64
import os
import secrets
import string
import subprocess
from collections import Counter

import aiohttp
import pytest
from client import User, eventually, new_id, token
from digests import expect_equal_digests
from system import EXECUTABLES, SERVICES, System
from uploads import Uploader


class LoudSystem(System):
    """Its services log all they ever log."""

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"PARLEY_LOG_LEVEL": "debug"}


@pytest.fixture(scope="module")
def loud():
    system = LoudSystem(instances=1)
    try:
        system.up()
        yield system
    finally:
        system.remove()


@pytest.fixture
async def users(loud):
    async with aiohttp.ClientSession() as http:
        yield lambda count: [User(loud, f"user-{n}-{secrets.token_hex(6)}", http) for n in range(count)]


# Of a node of Citus, what it has itself: Citus hides shards where tables are listed, takes no LOCK TABLE of them, and
# runs ANALYZE on all nodes.
OWN = ("override_table_visibility=off", "enable_manual_changes_to_shards=on", "enable_ddl_propagation=off")
BY_ITSELF = {"PGOPTIONS": " ".join(f"-c citus.{setting}" for setting in OWN)}


class Places:
    """Where traces of what people wrote may be: on all nodes, if the database has several."""

    def __init__(self, system: System):
        self.system = system
        self.urls = [system.owner_url(node) for node in system.nodes]

    def sql(self, statement: str, role: str = "postgres", node: int = 0) -> subprocess.CompletedProcess:
        url = self.urls[node].replace("user=postgres", f"user={role}")
        command = ["psql", "--no-psqlrc", "-Atqc", statement, url]
        return subprocess.run(command, capture_output=True, timeout=60, env=os.environ | BY_ITSELF)

    def dump(self) -> bytes:
        """Of a worker with its shards as tables of their own."""
        dumps = []
        for url in self.urls:
            command = ["pg_dump", "--dbname", url]
            done = subprocess.run(command, capture_output=True, timeout=100, env=os.environ | BY_ITSELF)
            assert done.returncode == 0, done.stderr
            dumps.append(done.stdout)
        return b"\n".join(dumps)

    def statistics(self) -> bytes:
        found = b""
        for node in range(len(self.urls)):
            assert self.sql("ANALYZE", node=node).returncode == 0
            done = self.sql(
                "SELECT * FROM pg_stats; SELECT * FROM pg_stats_ext; SELECT * FROM pg_stat_activity", node=node
            )
            assert done.returncode == 0 and done.stdout, done.stderr
            found += done.stdout
        return found

    def logs(self) -> bytes:
        logs = list((self.system.state / "logs").glob("*.log"))
        names = {f"{name}.log" for name in (*self.system.nodes, *(f"{service}-0" for service in SERVICES))}
        assert names <= {log.name for log in logs}
        return b"\n".join(log.read_bytes() for log in logs)

    def files_with(self, marker: str) -> list[str]:
        """Looks through every byte of the cluster's directory, its write-ahead log included, and of what was uploaded,
        as a reader of the disk finds it."""
        for node in range(len(self.urls)):
            assert self.sql("CHECKPOINT", node=node).returncode == 0
        directories = [(self.system.state / name).resolve() for name in (*self.system.nodes, "media")]
        done = subprocess.run(
            ["grep", "--recursive", "--text", "--fixed-strings", "--files-with-matches", "--file=-", *directories],
            input="\n".join(parts(marker)), capture_output=True, text=True, env={"LC_ALL": "C"}, timeout=100,
        )  # fmt: skip
        # PostgreSQL may remove a file meanwhile; whatever else keeps one from being read is not to be missed.
        unread = [line for line in done.stderr.splitlines() if not line.endswith("No such file or directory")]
        assert not unread, unread
        return sorted(done.stdout.splitlines())


def new_marker() -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(28))


def parts(marker: str) -> list[str]:
    """Any eight characters in a row. PostgreSQL's compression copies what is new byte by byte, at least eight at a
    time, so by them a compressed marker is found, too."""
    return [marker[start : start + 8] for start in range(len(marker) - 7)]


def holds(content: bytes, marker: str) -> bool:
    return any(part.encode() in content for part in parts(marker))


async def places_of(markers: list[str], places: Places) -> dict[str, list[str]]:
    """For each marker the files it is in. Aside, because sessions have to answer pings meanwhile."""
    return {marker: await asyncio.to_thread(places.files_with, marker) for marker in markers}


def long_texts(*markers: str) -> list[str]:
    """Texts that PostgreSQL keeps out of line: one that cannot be compressed, one that can."""
    noise = base64.b64encode(secrets.token_bytes(4_000)).decode()
    return [f"{noise[:2600]} {markers[0]} {noise[2600:]}", "word after word " * 300 + markers[1] + " and so on" * 300]


async def send_file(user: User, conversation: str, marker: str, name: str) -> dict:
    path = await asyncio.to_thread(Uploader(user.system, user.name).upload, marker.encode(), f"{name}.txt")
    return await user.sent(conversation, "see", attachments=[{"id": path.rpartition("/")[2]}])


async def until_media_follows(places: Places, name: str):
    """The service for files is told after the deletion was acknowledged."""

    async def is_gone() -> bool:
        return not holds(await asyncio.to_thread(places.dump), name)

    await eventually(is_gone)


def refuse_a_row(places: Places, marker: str):
    """Has PostgreSQL refuse a row with a text: its error has the row as a detail, and the statement."""
    done = places.sql(
        "INSERT INTO store.messages"
        " (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)"
        f" VALUES (1, gen_random_uuid(), -1, gen_random_uuid(), 1, 'x', 1, '{marker}', now(), now())",
        role="store",
    )
    assert b"violates check constraint" in done.stderr


async def until_found(user: User, word: str):
    """The index of texts follows what is sent."""

    async def is_found() -> bool:
        return len(await search(user, word)) == 1

    await eventually(is_found)


async def search(user: User, word: str) -> list[dict]:
    return (await user.get("/v1/search", q=word))["results"]


class Sender:
    """Sends one message after the other, all the time, and repeats each until it is acknowledged."""

    def __init__(self, user: User, conversation: str):
        self.user = user
        self.conversation = conversation
        self.acknowledged: list[str] = []
        self._task = asyncio.create_task(self._run())

    async def _run(self):
        while True:
            id = new_id()
            answer = await self.user.send_until_answered(self.conversation, "another one", id=id)
            assert answer.status in (200, 201), answer
            self.acknowledged.append(id)

    async def stop(self):
        self._task.cancel()
        try:
            await self._task
        except asyncio.CancelledError:
            pass


async def scrub_while_sending(system: System, sender: User):
    """`parley scrub`, and everything that is sent meanwhile is acknowledged and there once."""
    conversation = await sender.create_group()
    sending = Sender(sender, conversation)
    await asyncio.sleep(0.3)
    before = len(sending.acknowledged)
    process = await asyncio.create_subprocess_exec(
        EXECUTABLES / "parley",
        "scrub",
        env=system.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 100)
    during = len(sending.acknowledged) - before
    await asyncio.sleep(0.3)
    await sending.stop()
    assert process.returncode == 0, output.decode()
    assert b"store.messages" in output and b"scrubbed in " in output
    assert during > 0
    counted = Counter(message["id"] for message in await sender.history(conversation))
    assert set(sending.acknowledged) <= set(counted) and set(counted.values()) == {1}


async def test_a_deleted_message_is_nowhere(loud, users):
    alice, bob, sender = users(3)
    places = Places(loud)
    group = await alice.create_group(bob)
    markers = [new_marker() for _ in range(6)]
    first, edited, raw, compressed, name, content = markers
    message = await alice.sent(group, f"Some words and {first}")
    long = [await alice.sent(group, text) for text in long_texts(raw, compressed)]
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    assert (await alice.request("PATCH", path, {"text": f"{edited} in the end"})).status == 200
    reply = await bob.sent(group, "Is it?", reply_to=message["id"])
    reply_path = f"/v1/conversations/{group}/messages/{reply['id']}"
    assert edited in (await alice.get(reply_path))["replyTo"]["preview"]
    assert (await bob.request("PUT", f"{path}/tapback", {"kind": "love"})).status == 200
    long.append(await send_file(alice, group, content, name))
    for marker in (edited, raw, compressed, name):
        await until_found(bob, marker)
    followers = {user: await user.connect(cursors={group: 0}) for user in (alice, bob)}

    dump = await asyncio.to_thread(places.dump)
    texts = [marker for marker in markers if marker != content]
    found = await places_of(markers, places)
    assert all(any("/base/" in file for file in found[marker]) and marker.encode() in dump for marker in texts), found
    assert any("/media/objects/" in file for file in found[content]), found
    refuse_a_row(places, edited)

    for each in [message, *long]:
        answer = await alice.request("DELETE", f"/v1/conversations/{group}/messages/{each['id']}?scope=everyone")
        assert answer.status == 204
    assert (await bob.get(path))["text"] is None
    assert (await bob.get(reply_path))["replyTo"].get("preview") is None
    assert [await search(bob, marker) for marker in markers] == [[]] * len(markers)
    for user, session in followers.items():
        await expect_equal_digests(user, group, session)
        await session.close()
    await until_media_follows(places, name)
    for where in (places.dump(), places.statistics(), places.logs()):
        assert [marker for marker in markers if holds(where, marker)] == []

    # Deleted, the bytes are still there: that is what scrubbing is for.
    assert any((await places_of(markers, places)).values())
    await scrub_while_sending(loud, sender)
    assert await places_of(markers, places) == {marker: [] for marker in markers}


async def test_an_erased_user_is_nowhere(loud, users):
    alice, bob, sender = users(3)
    backend = User(loud, "backend", alice._http)
    backend.token = token("backend", adm=True)
    places = Places(loud)
    group = await bob.create_group(alice)
    direct = (await bob.request("POST", "/v1/conversations", {"kind": "direct", "members": [alice.name]})).body["id"]
    markers = [new_marker() for _ in range(8)]
    first, edited, raw, compressed, private, answered, name, content = markers
    message = await bob.sent(group, f"Some words and {first}")
    for text in long_texts(raw, compressed):
        await bob.sent(group, text)
    await bob.sent(direct, f"Between us: {private}")
    other = await alice.sent(group, "What do you think?", mentions=[bob.name], reply_to=message["id"])
    await bob.sent(group, f"{answered}, of course", reply_to=other["id"])
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    assert (await bob.request("PATCH", path, {"text": f"{edited} in the end"})).status == 200
    tapback = f"/v1/conversations/{group}/messages/{other['id']}/tapback"
    assert (await bob.request("PUT", tapback, {"kind": "love"})).status == 200
    assert (await bob.request("POST", f"/v1/conversations/{group}/receipts", {"readSeq": 4})).status == 202
    await send_file(bob, group, content, name)
    for marker in (edited, raw, compressed, private, answered, name):
        await until_found(alice, marker)
    session = await bob.connect()
    follower = await alice.connect(cursors={group: 0, direct: 0})

    dump = await asyncio.to_thread(places.dump)
    texts = [marker for marker in markers if marker != content]
    found = await places_of(markers, places)
    assert all(any("/base/" in file for file in found[marker]) and marker.encode() in dump for marker in texts), found
    assert any("/media/objects/" in file for file in found[content]), found
    refuse_a_row(places, edited)

    assert (await backend.request("DELETE", f"/v1/users/{bob.name}")).status == 202
    assert (await bob.request("GET", "/v1/conversations")).status == 401
    assert await session.ended() == 4401

    async def is_erased() -> bool:
        return (await backend.request("DELETE", f"/v1/users/{bob.name}")).status == 200

    await eventually(is_erased)
    counts = (await backend.request("DELETE", f"/v1/users/{bob.name}")).body["counts"]
    assert counts["messages"] == 6 and counts["revisions"] == 1 and counts["tapbacks"] == 1
    assert counts["mentions"] == 1 and counts["memberships"] == 2 and counts["receipts"] >= 1
    assert [message["text"] for message in await alice.history(group) if message["kind"] != "system"] == [
        None,
        None,
        None,
        "What do you think?",
        None,
        None,
    ]
    assert [await search(alice, marker) for marker in markers] == [[]] * len(markers)
    for conversation in (group, direct):
        await expect_equal_digests(alice, conversation, follower)
    await follower.close()
    await until_media_follows(places, name)
    for where in (places.dump(), places.statistics(), places.logs()):
        assert [marker for marker in markers if holds(where, marker)] == []

    assert any((await places_of(markers, places)).values())
    await scrub_while_sending(loud, sender)
    assert await places_of(markers, places) == {marker: [] for marker in markers}


@pytest.mark.kills
async def test_an_erased_user_stays_erased_and_an_erasure_goes_on_whatever_dies(loud, users):
    alice, bob = users(2)
    backend = User(loud, "backend", alice._http)
    backend.token = token("backend", adm=True)
    group = await alice.create_group(bob)
    await bob.fill(group, 2_000)
    assert (await backend.request("DELETE", f"/v1/users/{bob.name}")).status == 202
    for service in SERVICES:
        loud.kill(service)
    loud.revive()
    assert (await bob.request("GET", "/v1/conversations")).status == 401
    socket = await bob.open_socket()
    await socket.say("hello", token=bob.token)
    assert await socket.ended() == 4401

    async def is_erased() -> bool:
        return (await backend.request("DELETE", f"/v1/users/{bob.name}")).status == 200

    await eventually(is_erased, within=60)
    counts = (await backend.request("DELETE", f"/v1/users/{bob.name}")).body["counts"]
    assert counts["messages"] == 2_000
    assert all(message["text"] is None for message in await alice.history(group))
    await expect_equal_digests(alice, group)
    answer = await alice.request("PUT", f"/v1/conversations/{group}/members/{bob.name}", {})
    assert answer.status == 409
