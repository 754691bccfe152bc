"""Files under faults: uploaded in parts that begin where the service says, and read by others in the end."""

import asyncio
import base64
import random
import time
from dataclasses import dataclass

import aiohttp
from client import User
from uploads import BODY, TUS

from faults.book import Finding

ATTEMPT_SECONDS = 2.0
"""How long a client waits for an answer before it repeats the request elsewhere."""
GIVE_UP_SECONDS = 240.0
"""How long a write is repeated. Who gets no answer for longer has lost something."""
AGAIN = (423, 429, 460, 503)
"""Refusals that say to come again."""


@dataclass
class File:
    id: str
    content: bytes


class Files:
    """Calls of media, repeated until they are answered; elsewhere when they have to be."""

    def __init__(self, findings: list[Finding], patience: float = 60):
        self.findings = findings
        self.patience = patience
        """Seconds until what others may read has to be so."""
        self.carried: dict[str, File] = {}
        """By the message that is to carry it."""
        self.read = 0

    async def upload(self, user: User, choice: random.Random) -> File | None:
        """None: it was not taken, which is a finding."""
        content, name = choice.randbytes(choice.randrange(1, 60_000)), base64.b64encode(b"notes.bin").decode()
        fields = {"Upload-Length": str(len(content)), "Upload-Metadata": f"filename {name}"}
        created = await self._answered(user, "POST", "/v1/media", fields)
        if not self._expects(created, 201, "an upload"):
            return None
        path = created.headers["Location"]
        if not await self._send(user, path, content, choice) or not await self._is_ready(user, path):
            return None
        return File(path.rpartition("/")[2], content)

    async def _send(self, user: User, path: str, content: bytes, choice: random.Random) -> bool:
        offset = 0
        while offset < len(content):
            part = content[offset : offset + choice.randrange(1, 1 + len(content))]
            fields = {"Upload-Offset": str(offset), **BODY}
            answer = await self._attempt(user, "PATCH", path, fields, part)
            if answer is None or answer.status in (409, *AGAIN):
                answer = await self._answered(user, "HEAD", path, {})
            if not self._expects(answer, (200, 204), path):
                return False
            known, offset = offset, int(answer.headers["Upload-Offset"])
            if offset < known:
                self.findings.append(Finding("lost", f"{path} had {known} acknowledged bytes, and has {offset}"))
                return False
        return True

    async def _is_ready(self, user: User, path: str) -> bool:
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while time.monotonic() < deadline:
            answer = await self._answered(user, "GET", path, {})
            if not self._expects(answer, 200, path):
                return False
            if answer.body["state"] in ("ready", "refused"):
                break
            await asyncio.sleep(0.1)
        if answer.body["state"] == "ready":
            return True
        self.findings.append(Finding("refused", f"{path} is {answer.body['state']} {answer.body.get('reason', '')}"))
        return False

    # In the end

    async def check(self, message: str, reader: User, is_deleted: bool):
        """Whoever sees the message reads what was uploaded, and nobody what went with it."""
        file = self.carried[message]
        path, expected = f"/v1/media/{file.id}/content", 404 if is_deleted else 200
        deadline = time.monotonic() + self.patience
        while (answer := await self._answered(reader, "GET", path, {})) and answer.status != expected:
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(0.2)
        self.read += 1
        if answer is None or answer.status != expected:
            category = "visible" if is_deleted else "lost"
            self.findings.append(Finding(category, f"{path} of {message}: {answer and answer.status}"))
        elif expected == 200 and answer.body != file.content:
            self.findings.append(Finding("different", f"{path} of {message} is not what was uploaded"))

    # Calls

    def _expects(self, answer, status: int | tuple[int, ...], what: str) -> bool:
        statuses = status if isinstance(status, tuple) else (status,)
        if answer is not None and answer.status in statuses:
            return True
        self.findings.append(Finding("refused", f"{what}: {answer and (answer.status, answer.body)}"))
        return False

    async def _answered(self, user: User, method: str, path: str, fields: dict[str, str]):
        """Repeats what may be repeated, until it is neither lost nor refused for now."""
        deadline, delay = time.monotonic() + GIVE_UP_SECONDS, 0.05
        while time.monotonic() < deadline:
            answer = await self._attempt(user, method, path, fields)
            if answer is not None and answer.status not in AGAIN:
                return answer
            await asyncio.sleep(delay * random.uniform(0.5, 1))
            delay = min(1.0, 2 * delay)
        return None

    async def _attempt(self, user: User, method: str, path: str, fields: dict[str, str], body: bytes | None = None):
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                headers = TUS | fields
                return await user.request_media(method, path, body, random.randrange(2), headers)
        except (TimeoutError, aiohttp.ClientError, OSError):
            return None
