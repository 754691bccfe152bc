"""ParleyKit against real services: its process is killed at random while it sends, receives and edits, and processes of
the services beside it. In the end nothing is lost, doubled or out of order."""

import asyncio
import hashlib
import json
import os
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from client import token
from gate import Gate
from system import EXECUTABLES, System
from uploads import PATIENCE, Uploader, picture

DRIVER = EXECUTABLES / "KitDriver"
KILLS = int(os.environ.get("PARLEY_KIT_KILLS", "20"))
"""How often clients are killed: 20 take some seconds; the long form is 200."""

SEED = int(os.environ.get("PARLEY_SEED", random.SystemRandom().randrange(2**32)))

pytestmark = [pytest.mark.kills, pytest.mark.timeout(120 + 4 * KILLS)]


@dataclass
class Device:
    """A user's client, with a copy in a folder."""

    system: System
    user: str
    folder: Path
    conversations: list[str]
    process: asyncio.subprocess.Process | None = None
    media: str | None = None

    async def start(self, mode: str, *words: str):
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "errors").open("a") as errors:
            self.process = await asyncio.create_subprocess_exec(
                DRIVER, mode, self.folder, *self.conversations, *words,
                env=os.environ | {
                    "KIT_HTTP": self.system.address("ingest"),
                    "KIT_MEDIA": self.media or self.system.address("media"),
                    "KIT_WS": self.system.address("fanout").replace("http", "ws") + "/v1/socket",
                    "KIT_TOKEN": token(self.user),
                },
                stdout=asyncio.subprocess.PIPE, stderr=errors,
            )  # fmt: skip

    async def kill(self):
        if self.process:
            # One that has ended by itself has failed.
            assert self.process.returncode is None, (self.folder / "errors").read_text()[-2000:]
            self.process.kill()
            await self.process.wait()

    async def settle(self) -> dict:
        await self.start("settle")
        out, _ = await asyncio.wait_for(self.process.communicate(), 110)
        assert self.process.returncode == 0, (self.folder / "errors").read_text()[-2000:]
        return json.loads(out)

    async def line(self, first: str) -> list[str]:
        """The words of the next line that begins with this one."""
        while line := await asyncio.wait_for(self.process.stdout.readline(), PATIENCE):
            words = line.decode().split()
            if words[0] == first:
                return words[1:]
        raise AssertionError((self.folder / "errors").read_text()[-2000:])

    async def run(self, mode: str, *lines: str) -> list[list[str]]:
        """Runs it to its end, and returns the words of these lines."""
        await self.start(mode)
        found = [await self.line(line) for line in lines]
        assert await asyncio.wait_for(self.process.wait(), PATIENCE) == 0, (self.folder / "errors").read_text()[-2000:]
        return found

    def files(self) -> list[Path]:
        return list((self.folder / "parley.db.files").glob("*"))

    def journal(self) -> list[list[str]]:
        return [line.split() for line in (self.folder / "journal").read_text().splitlines()]


async def test_nothing_is_lost_when_clients_and_services_are_killed(single: System, people, tmp_path: Path):
    chance = random.Random(SEED)
    print(f"PARLEY_SEED={SEED}")
    alice, bob = people(single, 2)
    conversations = [await alice.create_group(bob) for _ in range(2)]
    devices = [Device(single, user.name, tmp_path / user.name, conversations) for user in (alice, bob)]
    for device in devices:
        await device.start("work")
    for number in range(KILLS):
        await asyncio.sleep(chance.uniform(0.05, 0.8))
        victim = chance.choice(devices)
        await victim.kill()
        if number % 5 == 4:
            service, instance = chance.choice(single.names)
            single.kill(service, instance)
            single.revive()
        await victim.start("work")
    await asyncio.sleep(1)
    for device in devices:
        await device.kill()
    reports = [await device.settle() for device in devices]
    # The second may have made the first one's copy old: it looks again.
    reports[0] = await devices[0].settle()
    for report in reports:
        assert report["waiting"] == 0
        assert report["differentPages"] == report["unknownPages"] == 0 < report["equalPages"]
    for device, user in zip(devices, (alice, bob), strict=True):
        await check_sends(device, user)


async def check_sends(device: Device, user):
    """Each message for which `send` returned is there once, and in the order of writing; any other at most once."""
    journal = device.journal()
    deleted = {line[1] for line in journal if line[0] == "delete"}
    sent = [line for line in journal if line[0] == "sent"]
    assert len(sent) > KILLS
    texts = Counter()
    for conversation in device.conversations:
        messages = await whole_history(user, conversation)
        own = {message["id"]: message for message in messages if message["senderId"] == user.name}
        texts.update(message["text"].rstrip("!") for message in own.values() if message["text"])
        seqs = []
        for _, number, where, message in sent:
            if where != conversation or message in deleted:
                continue
            assert message in own, f"number {number} is lost"
            seqs.append(own[message]["seq"])
        assert seqs == sorted(seqs)
    assert max(texts.values()) == 1


async def whole_history(user, conversation: str) -> list[dict]:
    messages, after = [], 0
    while True:
        page = await user.get(f"/v1/conversations/{conversation}/messages", after=after, limit=200)
        messages += page["messages"]
        if not page["hasMoreAfter"]:
            return messages
        after = page["messages"][-1]["seq"]


LARGEST_PIECE = 4 * 1024 * 1024


def sha256(path: str | Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


async def pair(system: System, people, tmp_path: Path):
    """Two users of one group, and a client of each."""
    alice, bob = people(system, 2)
    group = await alice.create_group(bob)
    return alice, bob, *(Device(system, user.name, tmp_path / user.name, [group]) for user in (alice, bob))


async def test_a_picture_is_sent_read_kept_and_deleted(single: System, people, tmp_path: Path):
    alice, bob, sender, reader = await pair(single, people, tmp_path)
    original = tmp_path / "walk.png"
    original.write_bytes(picture(640, 400))
    await sender.start("attach", str(original))
    message = (await sender.line("stored"))[0]
    original.unlink()
    await sender.line("done")

    (media, name, width), (content,), (thumbnail,) = await reader.run("read", "file", "content", "thumbnail")
    assert (name, width) == ("walk.png", "640")
    described = Uploader(single, bob.name).call("GET", f"/v1/media/{media}").json()
    assert sha256(content) == described["sha256"]
    assert Path(content).stat().st_size == described["size"]
    assert Path(thumbnail).read_bytes()[8:12] == b"WEBP"
    # Without the server, what was seen is still there.
    assert await reader.run("seen", "content", "thumbnail") == [[content], [thumbnail]]

    history = await bob.history(reader.conversations[0])
    assert [m["text"] for m in history if m["kind"] == "text"] == ["look", "behind 1", "behind 2", "behind 3"]
    path = f"/v1/conversations/{reader.conversations[0]}/messages/{message}?scope=everyone"
    assert (await alice.request("DELETE", path)).status == 204
    assert len(reader.files()) == 2
    await reader.run("gone", "deleted")
    assert reader.files() == []


async def test_an_upload_goes_on_after_the_process_was_killed(single: System, people, tmp_path: Path):
    alice, bob, sender, reader = await pair(single, people, tmp_path)
    original = tmp_path / "large.bin"
    size = 32_000_000
    original.write_bytes(random.Random(SEED).randbytes(size))
    digest = sha256(original)
    group = sender.conversations[0]
    async with Gate(single.address("media")) as gate:
        sender.media = gate.address
        gate.open(8_000_000)
        await sender.start("attach", str(original))
        while int((await sender.line("sent"))[0]) == 0:
            pass
        original.unlink()
        await gate.closed()
        await sender.kill()
        assert [m for m in await bob.history(group) if m["kind"] == "text"] == []

        # Once more in the middle, and the service, too.
        gate.open(8_000_000)
        await sender.start("finish")
        await gate.closed()
        await sender.kill()
        single.kill("media")
        single.revive()
        gate.open(2 * size)
        await sender.run("finish", "done")
        # What was acknowledged was not sent again: at most a piece for each end, and the heads of requests.
        assert size <= gate.passed <= size + 2 * LARGEST_PIECE + 100_000
    history = [m for m in await bob.history(group) if m["kind"] == "text"]
    assert [m["text"] for m in history] == ["look", "behind 1", "behind 2", "behind 3"]
    assert history[0]["attachments"][0]["size"] == size
    await reader.start("read")
    assert sha256((await reader.line("content"))[0]) == digest
    # There is no thumbnail of such a file.
    await reader.process.wait()
