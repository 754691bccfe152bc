"""A history that is imported while processes die: every line is there, once, and in its place."""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from client import PATIENCE, new_id, token

pytestmark = pytest.mark.kills

FIRST = datetime(2020, 3, 7, tzinfo=UTC)


def moment(second: float) -> str:
    return (FIRST + timedelta(seconds=second)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def history(conversations: list[str], members: list[str], count: int) -> list[dict]:
    """Messages of several conversations, mixed, and when the second member got and read each."""
    opened = [
        {"type": "conversation", "id": id, "kind": "group", "members": members, "createdAt": moment(0)}
        for id in conversations
    ]

    def message(conversation: str, second: int) -> list[dict]:
        id = new_id()
        receipt = {"type": "receipt", "conversationId": conversation, "userId": members[1], "throughMessageId": id}
        return [
            {"type": "message", "conversationId": conversation, "id": id, "senderId": members[0]}
            | {"text": f"message {second}", "createdAt": moment(second)},
            receipt | {"kind": "delivered", "at": moment(second + 0.25)},
            receipt | {"kind": "read", "at": moment(second + 0.5)},
        ]

    messages = [message(conversation, second) for second in range(1, count + 1) for conversation in conversations]
    return [*opened, *itertools.chain(*messages), *({"type": "end", "conversationId": id} for id in conversations)]


class Importer:
    """Does what a client does whatever happens: continues from the first line without a good result."""

    def __init__(self, system, http: aiohttp.ClientSession):
        self.system = system
        self.http = http
        self.headers = {"Authorization": f"Bearer {token('backend', adm=True)}"}

    async def bring(self, records: list[dict], meanwhile):
        """Calls `meanwhile` once, when the first results are there and most lines are not sent."""
        deadline = time.monotonic() + 4 * PATIENCE
        done = 0
        for instance in itertools.cycle((1, 0)):
            async for result in self._results(records[done:], instance):
                if result["status"] != 200:
                    assert result["status"] == 503, result
                    break
                done += 1
                if done == 100:
                    meanwhile()
            if done == len(records):
                return
            assert time.monotonic() < deadline, f"{done} of {len(records)} lines"
            await asyncio.sleep(0.2)

    async def _results(self, records: list[dict], instance: int) -> AsyncIterator[dict]:
        url = self.system.address("ingest", instance) + "/v1/import"
        try:
            async with self.http.post(url, data=self._lines(records), headers=self.headers) as response:
                if response.status == 200:
                    async for line in response.content:
                        yield json.loads(line)
        except (TimeoutError, aiohttp.ClientError):
            pass  # The process it talked to went away.

    async def _lines(self, records: list[dict]) -> AsyncIterator[bytes]:
        for start in range(0, len(records), 50):
            yield b"".join(json.dumps(record).encode() + b"\n" for record in records[start : start + 50])
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("service", ["store", "ingest", "receipt"])
async def test_an_import_goes_on_when_a_process_is_killed(double, people, service):
    alice, bob = people(double, 2)
    conversations = [new_id() for _ in range(8)]
    records = history(conversations, [alice.name, bob.name], 300)
    async with aiohttp.ClientSession() as http:
        await Importer(double, http).bring(records, lambda: double.kill(service, 1))
    for conversation in conversations:
        page = await bob.get(f"/v1/conversations/{conversation}/changes", after=0, limit=1000, instance=0)
        changes = page["changes"]
        messages = [change["message"] for change in changes if change["kind"] == "message.created"]
        texts = [message["text"] for message in messages if message["kind"] == "text"]
        assert texts == [f"message {second}" for second in range(1, 301)]
        assert [change["seq"] for change in changes] == list(range(1, len(changes) + 1))
        page = await alice.get(f"/v1/conversations/{conversation}/messages", limit=200, instance=0)
        for message in page["messages"]:
            if message["kind"] == "text":
                second = int(message["text"].split()[1])
                assert message["dateDelivered"] == moment(second + 0.25) and message["dateRead"] == moment(second + 0.5)
