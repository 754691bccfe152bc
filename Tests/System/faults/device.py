"""A device: holds a session, resumes it elsewhere when it ends, and writes down what comes."""

import asyncio
import json
import random
import time

import aiohttp
from client import User
from digests import SlimCopy
from replica import Replica

from faults.book import Finding, Seen, outline

PING_SECONDS = 2.0
SILENCE_SECONDS = 6.0
"""A client that hears nothing for so long, not even the answers to its pings, tries another server."""
STATUS_KINDS = ("delivered", "read")


class Device:
    def __init__(self, user: User, http: aiohttp.ClientSession, cursors: dict[str, int], *, is_member: bool = True):
        self.user = user
        self.seen = Seen(user.name, is_member_throughout=is_member)
        self.cursors = dict(cursors)
        self.replicas = {conversation: Replica() for conversation in cursors}
        self.copies = {conversation: SlimCopy() for conversation in cursors}
        """What its digests are computed from."""
        self.useq: int | None = None
        self.reads = asyncio.Event()
        """Cleared, it stops reading what comes, as a client in trouble does."""
        self.reads.set()
        self.pause_seconds = 0.0
        """After each frame: a slow reader."""
        self.socket: aiohttp.ClientWebSocketResponse | None = None
        self._http = http
        self._home = user.home
        self._holes: set[tuple[str, int]] = set()
        self._versions: dict[str, int] = {}
        self._horizons: dict[tuple[str, str, str], int] = {}
        self._retry_after = 0.0
        self.is_leaving = False

    @property
    def is_welcome(self) -> bool:
        """Whether it has been told where its private stream begins."""
        return self.useq is not None

    async def stay(self):
        """Until it is told to leave: connects, resumes, and takes what comes."""
        delay = 0.05
        while not self.is_leaving:
            begun = time.monotonic()
            try:
                await self._hold_session()
            except (aiohttp.ClientError, OSError, TimeoutError, json.JSONDecodeError):
                pass
            finally:
                self.socket = None
            if self.is_leaving:
                return
            self.seen.reconnections += 1
            self._home = (self._home + 1) % self.user.system.instances
            delay = 0.05 if time.monotonic() - begun > 1 else min(1.0, 2 * delay)
            await asyncio.sleep(max(delay, self._retry_after) * random.uniform(0.5, 1))
            self._retry_after = 0.0

    async def leave(self):
        self.is_leaving = True
        if self.socket:
            await self.socket.close()

    async def _hold_session(self):
        url = self.user.system.address("fanout", self._home).replace("http", "ws") + "/v1/socket"
        async with asyncio.timeout(SILENCE_SECONDS):
            socket = await self._http.ws_connect(url, protocols=["parley.v1"], max_msg_size=0)
        async with socket:
            hello = {"type": "hello", "token": self.user.token, "cursors": self.cursors}
            await socket.send_json(hello | ({} if self.useq is None else {"useq": self.useq}))
            self._versions.clear()
            self.socket = socket
            pinging = asyncio.create_task(_ping(socket))
            try:
                await self._read(socket)
            finally:
                pinging.cancel()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse):
        while True:
            await self.reads.wait()
            message = await socket.receive(timeout=SILENCE_SECONDS)
            if message.type != aiohttp.WSMsgType.TEXT:
                return
            await self._take(json.loads(message.data))
            if self.pause_seconds:
                await asyncio.sleep(self.pause_seconds)

    async def _take(self, frame: dict):
        self.seen.frames += 1
        match frame["type"]:
            case "welcome":
                self._welcome(frame)
            case "change":
                self._change(frame["change"])
            case "private":
                self._private(frame)
            case "status":
                self._status(frame)
            case "reload":
                await self._reload(frame)
            case "reset":
                self._find("lost", f"told to discard everything: {frame}")
            case "bye":
                self._retry_after = min(2.0, frame.get("retryAfter", 0))

    def _welcome(self, frame: dict):
        if not self.is_welcome:
            self.useq = frame["useq"]

    def _change(self, change: dict):
        conversation, seq = change["conversationId"], change["seq"]
        place = (conversation, seq)
        before = self.cursors.get(conversation)
        if before is not None and seq <= before:
            category = "reordered" if place in self._holes else "duplicated"
            return self._find(category, f"change {seq} of {conversation} after {before}")
        if before is not None and seq > before + 1 and self.seen.is_member_throughout:
            self._holes |= {(conversation, missing) for missing in range(before + 1, seq)}
            self._find("lost", f"change {seq} of {conversation} came after {before}")
        self.cursors[conversation] = seq
        self.seen.positions.setdefault(conversation, []).append(seq)
        self.seen.changes[place] = outline(change)
        if self.seen.is_member_throughout and conversation in self.replicas:
            self.replicas[conversation].take_change(change)
            self.copies[conversation].take_change(change)

    def _private(self, frame: dict):
        if frame["useq"] != self.useq + 1:
            category = "duplicated" if frame["useq"] <= self.useq else "lost"
            self._find(category, f"private change {frame['useq']} came after {self.useq}")
        self.useq = max(self.useq, frame["useq"])
        if frame["kind"] == "message.hidden":
            self.seen.hidden.append(frame["messageId"])
        if frame.get("conversationId") in self.replicas:
            self.replicas[frame["conversationId"]].take_private(frame)
            self.copies[frame["conversationId"]].take_private(frame)

    def _status(self, frame: dict):
        """Versions only rise within a session, horizons never fall. A guest may be told again."""
        conversation = frame["conversationId"]
        is_repeated = frame["statusVersion"] <= self._versions.get(conversation, -1)
        if is_repeated and self.seen.is_member_throughout:
            self._find("reordered", f"status {frame['statusVersion']} of {conversation}")
        self._versions[conversation] = frame["statusVersion"]
        for kind in STATUS_KINDS:
            for user, seq in frame.get(kind, {}).items():
                if seq < self._horizons.get((conversation, kind, user), 0):
                    self._find("reordered", f"{user} has {kind} less of {conversation} than before")
                self._horizons[conversation, kind, user] = seq

    async def _reload(self, frame: dict):
        """Too much was missed to be replayed: it is read page by page, then the session goes on."""
        conversation, last = frame["conversationId"], frame["lastSeq"]
        while self.cursors[conversation] < last:
            after = self.cursors[conversation]
            try:
                page = await self.user.get(f"/v1/conversations/{conversation}/changes", instance=0, after=after)
            except (AssertionError, aiohttp.ClientError, OSError):
                await asyncio.sleep(0.2)
                continue
            for change in page["changes"]:
                if change["seq"] <= last:
                    self._change(change)

    def _find(self, category: str, text: str):
        self.seen.findings.append(Finding(category, f"{self.user.name}: {text}"))


async def _ping(socket: aiohttp.ClientWebSocketResponse):
    while True:
        await asyncio.sleep(PING_SECONDS)
        await socket.send_str('{"type":"ping"}')
