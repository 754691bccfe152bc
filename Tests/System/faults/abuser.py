"""A client that takes as much as it is given: a program of its own, so that its work does not slow those that measure.

It runs at a low priority (a flooder computes on a machine of its own), reads its orders as one line of JSON, goes on
until its standard input ends, and prints what came back: a count of each status, or of each way in which a connection
ended.
"""

import asyncio
import hashlib
import itertools
import json
import os
import sys
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import aiohttp  # noqa: E402

STRANGERS = 40
"""Connections that send a large body without a valid token."""
BODY_BYTES = 3_900_000
HEAD = f"POST /v1/messages:batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: {1 << 22}\r\n\r\n"
SESSIONS = 300
FRAMES = 50
"""Frames that a session sends at once."""
GROUPS = 150
"""Groups of a thousand that it creates; then it repeats itself, so that the disk is not what ends it."""
MESSAGES = 10_000
"""The same of its long messages."""


class Abuser:
    def __init__(self, orders: dict):
        self.ingests: list[str] = orders["ingests"]
        self.fanouts: list[str] = orders["fanouts"]
        self.token: str = orders["token"]
        self.user: str = orders["user"]
        self.conversation: str = orders["conversation"]
        self.counts: Counter[str] = Counter()
        self._turns = 0
        self._groups = itertools.cycle(uuid.uuid4() for _ in range(GROUPS))
        self._messages = itertools.cycle(uuid.uuid4() for _ in range(MESSAGES))

    @property
    def _ingest(self) -> str:
        self._turns += 1
        return self.ingests[self._turns % len(self.ingests)]

    # What it does

    async def compute(self):
        """Nothing to the servers: what a machine that is busy costs by itself."""
        while True:
            hashlib.sha256(bytes(1 << 20))
            await asyncio.sleep(0)

    async def send_bodies_without_a_token(self):
        await self._side_by_side(STRANGERS, self._send_body)

    async def _send_body(self):
        host, port = self._ingest.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(HEAD.encode() + bytes(BODY_BYTES))
            line = await asyncio.wait_for(reader.readline(), 5)
            self.counts[line.split()[1].decode() if line else "closed"] += 1
        except TimeoutError:
            self.counts["kept without a response for 5 s"] += 1
        finally:
            writer.transport.abort()

    async def connect_again_and_again(self):
        await self._side_by_side(4, self._connect)

    async def _connect(self):
        async with self._socket() as socket:
            async for frame in socket:
                kind = json.loads(frame.data)["type"]
                self.counts[kind] += 1
                if kind in ("welcome", "bye"):
                    return

    async def ask_for_lists(self):
        await self._side_by_side(25, self._list)

    async def _list(self):
        await self._request("GET", "/v1/conversations?limit=1")
        await self._request("GET", f"/v1/conversations/{self.conversation}")

    async def search_what_it_writes(self):
        texts = asyncio.create_task(self._side_by_side(1, self._write_long_texts))
        try:
            await self._side_by_side(10, lambda: self._request("GET", "/v1/search?q=absent+words"))
        finally:
            texts.cancel()

    async def _write_long_texts(self):
        await self._send_batch(count=100, text="Straße İstanbul ﬃ " * 700)
        await asyncio.sleep(1)

    async def open_sessions_and_babble(self):
        await self._side_by_side(SESSIONS, self._babble)

    async def _babble(self):
        async with self._socket() as socket:
            reading = asyncio.create_task(self._count_ends(socket))
            while not socket.closed and not reading.done():
                for seq in range(FRAMES):
                    await socket.send_json({"type": "read", "conversationId": self.conversation, "seq": seq + 1})
                self.counts["frames"] += FRAMES
                await asyncio.sleep(0.01)
            await reading

    async def _count_ends(self, socket):
        async for frame in socket:
            if json.loads(frame.data)["type"] == "bye":
                self.counts["bye"] += 1

    async def create_large_groups(self):
        await self._side_by_side(10, self._create)

    async def _create(self):
        members = [f"somebody-{n}-{self.user}" for n in range(999)]
        await self._request(
            "POST", "/v1/conversations", {"id": str(next(self._groups)), "kind": "group", "members": members}
        )

    async def send_large_batches(self):
        await self._side_by_side(20, lambda: self._send_batch(count=64, text="x" * 16_000))

    # How

    async def _send_batch(self, count: int, text: str):
        ids = itertools.islice(self._messages, count)
        messages = [{"conversationId": self.conversation, "id": str(id), "text": text} for id in ids]
        await self._request("POST", "/v1/messages:batch", {"messages": messages})

    async def _request(self, method: str, path: str, body: dict | None = None):
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.http.request(method, self._ingest + path, headers=headers, json=body) as response:
            await response.read()
            self.counts[str(response.status)] += 1

    def _socket(self):
        self._turns += 1
        url = self.fanouts[self._turns % len(self.fanouts)].replace("http", "ws") + "/v1/socket"
        return _Hello(self.http.ws_connect(url, protocols=["parley.v1"], max_msg_size=0), self.token)

    async def _side_by_side(self, count: int, act: Callable[[], Awaitable]):
        async def repeat():
            while True:
                try:
                    await act()
                except (TimeoutError, aiohttp.ClientError, OSError):
                    self.counts["connection refused or lost"] += 1
                    await asyncio.sleep(0.05)

        await asyncio.gather(*(repeat() for _ in range(count)))

    async def run(self, act: str):
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as self.http:
            acting = asyncio.create_task(getattr(self, act)())
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
            acting.cancel()
            await asyncio.wait([acting])
            if not acting.cancelled() and acting.exception():
                raise acting.exception()


class _Hello:
    """A WebSocket that begins with `hello`."""

    def __init__(self, connecting, token: str):
        self._connecting = connecting
        self._token = token

    async def __aenter__(self) -> aiohttp.ClientWebSocketResponse:
        socket = await self._connecting.__aenter__()
        await socket.send_json({"type": "hello", "token": self._token})
        return socket

    async def __aexit__(self, *error):
        await self._connecting.__aexit__(*error)


def main():
    os.nice(10)
    orders = json.loads(sys.stdin.readline())
    abuser = Abuser(orders)
    asyncio.run(abuser.run(orders["act"]))
    print(json.dumps(abuser.counts))


if __name__ == "__main__":
    main()
