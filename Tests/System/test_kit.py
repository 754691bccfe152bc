"""ParleyKit against real services: its process is killed at random while it sends, receives and edits, and processes of
the services beside it. In the end nothing is lost, doubled or out of order."""

import asyncio
import json
import os
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from client import token
from system import EXECUTABLES, System

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

    async def start(self, mode: str):
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "errors").open("a") as errors:
            self.process = await asyncio.create_subprocess_exec(
                DRIVER, mode, self.folder, *self.conversations,
                env=os.environ | {
                    "KIT_HTTP": self.system.address("ingest"),
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
