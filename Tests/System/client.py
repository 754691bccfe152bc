"""Users of a Parley system: their tokens, requests and WebSocket sessions."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import itertools
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
from system import PATIENCE, SECRET, System


def new_id() -> str:
    return str(uuid.uuid4())


def token(user: str, *, lifetime: float = 3600, secret: str = SECRET, algorithm: str = "HS256", **claims) -> str:
    """A JSON Web Token as an application's own backend would make it."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    header = part(json.dumps({"alg": algorithm, "typ": "JWT"}).encode())
    body = part(json.dumps({"sub": user, "exp": int(time.time() + lifetime)} | claims).encode())
    signature = hmac.new(secret.encode(), f"{header}.{body}".encode(), hashlib.sha256).digest()
    return f"{header}.{body}.{'' if algorithm == 'none' else part(signature)}"


# Of a request with a new id. 200: ingest itself repeated it while a slot changed hands, and the first attempt had been
# committed.
ACCEPTED = (201, 200)


async def eventually(condition: Callable[[], Awaitable[bool]], *, within: float = PATIENCE):
    """Waits for what follows an acknowledged write without being part of its acknowledgement."""
    async with asyncio.timeout(within):
        while not await condition():
            await asyncio.sleep(0.02)


@dataclass
class Answer:
    status: int
    body: Any
    headers: Any

    @property
    def code(self) -> str | None:
        """The stable code of a problem."""
        return self.body.get("code") if isinstance(self.body, dict) else None


class User:
    """One user of one system. Talks to the processes number `home`, where a call does not say otherwise."""

    def __init__(self, system: System, name: str, http: aiohttp.ClientSession, *, home: int = 0):
        self.system = system
        self.name = name
        self.home = home
        self.token = token(name)
        self._http = http
        self._sessions: list[Session] = []

    # Requests

    async def request(
        self, method: str, path: str, body: Any = None, *, instance: int | None = None, **options
    ) -> Answer:
        headers = {"Authorization": f"Bearer {self.token}"} | options.pop("headers", {})
        url = self.system.address("ingest", self.home if instance is None else instance) + path
        if body is not None:
            options["json"] = body
        async with self._http.request(method, url, headers=headers, **options) as response:
            text = await response.text()
            return Answer(response.status, json.loads(text) if text else None, response.headers)

    async def request_media(
        self, method: str, path: str, body: bytes | None, instance: int, headers: dict[str, str]
    ) -> Answer:
        """A call of the service for files: what is no JSON comes as it is."""
        url, headers = (
            self.system.address("media", instance) + path,
            {"Authorization": f"Bearer {self.token}"} | headers,
        )
        async with self._http.request(method, url, headers=headers, data=body) as response:
            content = await response.read()
            is_json = "json" in response.content_type
            return Answer(response.status, json.loads(content) if is_json and content else content, response.headers)

    async def get(self, path: str, *, instance: int | None = None, **query) -> Any:
        """Asks again where the server says to, as clients do."""
        deadline = time.monotonic() + PATIENCE
        while (answer := await self.request("GET", path, instance=instance, params=query)).status == 503:
            assert time.monotonic() < deadline, answer
            await asyncio.sleep(0.2)
        assert answer.status == 200, answer
        return answer.body

    async def create_group(self, *members: "User", title: str | None = None, id: str | None = None) -> str:
        body = {"id": id or new_id(), "kind": "group", "members": [member.name for member in members]}
        answer = await self.request("POST", "/v1/conversations", body | ({"title": title} if title else {}))
        assert answer.status in ACCEPTED, answer
        return answer.body["id"]

    async def send(
        self,
        conversation: str,
        text: str,
        *,
        id: str | None = None,
        reply_to: str | None = None,
        instance: int | None = None,
        **fields,
    ) -> Answer:
        body = {"id": id or new_id(), "text": text} | ({"replyTo": reply_to} if reply_to else {}) | fields
        return await self.request("POST", f"/v1/conversations/{conversation}/messages", body, instance=instance)

    async def sent(self, conversation: str, text: str, **options) -> dict:
        """Sends a message that has to be accepted and returns it."""
        answer = await self.send(conversation, text, **options)
        assert answer.status in ACCEPTED, answer
        return answer.body

    async def send_until_answered(self, conversation: str, text: str, *, id: str) -> Answer:
        """What a client does whatever happens to the services: repeats the same message, elsewhere when it has to."""
        deadline = time.monotonic() + 2 * PATIENCE
        for instance in itertools.cycle(range(self.system.instances)):
            try:
                answer = await self.send(conversation, text, id=id, instance=instance)
                if answer.status not in (429, 503):
                    return answer
            except (TimeoutError, aiohttp.ClientError):
                pass  # the process it talked to went away
            assert time.monotonic() < deadline, "no answer, however often it was repeated"
            await asyncio.sleep(0.05)

    async def send_batch(self, messages: list[dict], *, instance: int | None = None) -> Answer:
        return await self.request("POST", "/v1/messages:batch", {"messages": messages}, instance=instance)

    async def fill(self, conversation: str, count: int) -> list[dict]:
        """Sends so many messages, in batches, and returns them."""
        bodies = [{"conversationId": conversation, "id": new_id(), "text": f"message {n}"} for n in range(count)]
        filled = []
        for start in range(0, count, 500):
            answer = await self.send_batch(bodies[start : start + 500])
            assert answer.status == 200, answer
            filled += [result["message"] for result in answer.body["results"]]
        return filled

    async def conversation(self, conversation: str, **options) -> dict:
        return await self.get(f"/v1/conversations/{conversation}", **options)

    async def page(self, conversation: str, *, instance: int | None = None, **query) -> dict:
        return await self.get(f"/v1/conversations/{conversation}/messages", instance=instance, **query)

    async def history(self, conversation: str, *, instance: int | None = None) -> list[dict]:
        """All messages, read page by page from the first."""
        messages, after = [], 0
        while True:
            page = await self.page(conversation, instance=instance, after=after, limit=200)
            messages += page["messages"]
            if not page["hasMoreAfter"]:
                return messages
            after = messages[-1]["seq"]

    async def changes(self, conversation: str, after: int = 0, *, instance: int | None = None) -> list[dict]:
        """All changes after a position, read page by page."""
        changes = []
        while True:
            page = await self.get(f"/v1/conversations/{conversation}/changes", instance=instance, after=after)
            changes += page["changes"]
            if not page["more"]:
                return changes
            after = changes[-1]["seq"]

    # Sessions

    async def connect(self, *, instance: int | None = None, token: str | None = None, **hello) -> "Session":
        """Opens a session and returns it after `welcome`."""
        session = await self.open_socket(instance=instance)
        await session.say("hello", token=token or self.token, **hello)
        session.welcome = await session.next("welcome")
        return session

    async def open_socket(self, *, instance: int | None = None) -> "Session":
        address = self.system.address("fanout", self.home if instance is None else instance)
        url = address.replace("http", "ws") + "/v1/socket"
        session = Session(await self._http.ws_connect(url, protocols=["parley.v1"], max_msg_size=0))
        self._sessions.append(session)
        return session

    async def leave(self, *, tolerating: type[Exception] | tuple = ()):
        """Ends all sessions. `tolerating`: what may have ended one before, as a frame that is no JSON."""
        while self._sessions:
            with contextlib.suppress(tolerating):
                await self._sessions.pop().close()


class Session:
    """An open WebSocket. Keeps every frame that came, in order."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse):
        self.socket = socket
        self.frames: list[dict] = []
        self.welcome: dict = {}
        self._arrival = asyncio.Condition()
        self._ended = False
        self._reader = asyncio.create_task(self._read())

    async def _read(self):
        try:
            async for message in self.socket:
                if message.type == aiohttp.WSMsgType.TEXT:
                    await self._add(json.loads(message.data))
        finally:
            self._ended = True
            async with self._arrival:
                self._arrival.notify_all()

    async def _add(self, frame: dict):
        async with self._arrival:
            self.frames.append(frame)
            self._arrival.notify_all()

    async def say(self, type: str, **fields):
        await self.socket.send_str(json.dumps({"type": type} | fields))

    async def until(self, condition: Callable[[], Any], *, within: float = PATIENCE) -> Any:
        """Waits until the frames satisfy the condition and returns what it says."""
        async with self._arrival:
            try:
                await asyncio.wait_for(self._arrival.wait_for(lambda: condition() or self._ended), within)
            except TimeoutError:
                pass
        result = condition()
        assert result, (
            f"did not come{' before the session ended' if self._ended else ''}; the last frames: {self.frames[-5:]}"
        )
        return result

    async def next(
        self, type: str, *, where: Callable[[dict], bool] = lambda _: True, within: float = PATIENCE
    ) -> dict:
        """The first frame of that kind, come already or yet to come."""
        return await self.until(
            lambda: next((frame for frame in self.frames if frame["type"] == type and where(frame)), None),
            within=within,
        )

    def of(self, type: str) -> list[dict]:
        return [frame for frame in self.frames if frame["type"] == type]

    def changes(self, conversation: str) -> list[dict]:
        changes = [frame["change"] for frame in self.of("change")]
        return [change for change in changes if change["conversationId"] == conversation]

    def positions(self, conversation: str) -> list[int]:
        return [change["seq"] for change in self.changes(conversation)]

    async def reach(self, conversation: str, seq: int, *, within: float = PATIENCE):
        """Waits for the change at that position."""
        await self.until(lambda: seq in self.positions(conversation), within=within)

    async def quiet(self):
        """Returns when the server has nothing more to say: what it says answers a ping after what came before."""
        id = new_id()
        await self.say("ping", id=id)
        await self.next("pong", where=lambda frame: frame.get("id") == id)

    async def ended(self, *, within: float = PATIENCE) -> int | None:
        """Waits until the server has closed and returns its close code."""
        await asyncio.wait_for(asyncio.shield(self._reader), within)
        return self.socket.close_code

    async def close(self):
        await self.socket.close()
        await self._reader
