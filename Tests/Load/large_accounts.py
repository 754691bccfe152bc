#!/usr/bin/env python3
"""What one fanout does for a user with very many conversations, and for a very large room that leaves at once.

For each number of conversations (SQL makes them, as the services would have left them) a session is opened and closed;
then as many sessions as there are members of a room are open and are closed at the same moment. Told are the time until
`welcome` and until the session is live, the CPU time of the fanout, and beside them how long /healthz took, which waits
for the same thread.

    Tests/Load/large_accounts.py [--conversations N…] [--room N] [--json FILE]
"""

import argparse
import asyncio
import json
import os
import sys
import threading
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import floors  # noqa: E402
from client import token  # noqa: E402
from system import System  # noqa: E402

HANDSHAKE = (
    b"GET /v1/socket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: parley.v1\r\n\r\n"
)
ROOM = "01890000-0000-7000-8000-0000000000aa"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, nargs="*", default=[10_000, 20_000])
    parser.add_argument("--room", type=int, default=10_000, help="members of the room (default 10000)")
    parser.add_argument("--json", type=Path, help="writes what was measured there, too")
    options = parser.parse_args()
    system = System()
    try:
        system.up()
        results = [asyncio.run(account(system, count)) for count in options.conversations]
        if options.room:
            results += asyncio.run(crowd(system, options.room))
    finally:
        system.remove()
    for result in results:
        print(json.dumps(result))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


async def account(system: System, count: int) -> dict:
    name = f"owner-of-{count}"
    floors.psql(system, CONVERSATIONS.format(user=name, slot=slot(name), count=count))
    floors.psql(system, "ANALYZE store.conversations, store.memberships, store.inbox")
    health = Health(system)
    session = await Session.open(system, name)
    started = time.monotonic()
    await session.frame("welcome")
    welcome = time.monotonic() - started
    live = await session.live(started)
    connecting = health.take()
    await asyncio.sleep(6)
    later = health.take()
    session.close()
    await asyncio.sleep(8)
    return {
        "conversations": count,
        "welcome ms": ms(welcome),
        "live ms": ms(live),
        "connecting": connecting,
        "presence, 6 s": later,
        "leaving, 8 s": health.end(),
    }


async def crowd(system: System, count: int) -> list[dict]:
    names = [f"member-{number}" for number in range(count)]
    floors.psql(system, ROOM_ROW.format(room=ROOM, count=count))
    for start in range(0, count, 1000):
        members = ",".join(f"('{name}',{slot(name)})" for name in names[start : start + 1000])
        floors.psql(system, MEMBER_ROWS.format(room=ROOM, members=members))
    floors.psql(system, "ANALYZE store.conversations, store.memberships, store.inbox")
    health = Health(system)
    sessions: list[Session] = []
    for start in range(0, count, 100):
        opened = await asyncio.gather(*(Session.open(system, name) for name in names[start : start + 100]))
        await asyncio.gather(*(session.frame("welcome") for session in opened))
        sessions += opened
    await asyncio.sleep(2)
    coming = health.take()
    await asyncio.sleep(1)
    health.take()
    await send(system, names[0])
    await asyncio.sleep(2)
    change = health.take()
    for session in sessions:
        session.close()
    await asyncio.sleep(10)
    leaving = health.end()
    return [{"room": count, "coming": coming, "one message, 2 s": change, "leaving at once, 10 s": leaving}]


async def send(system: System, user: str):
    body = json.dumps({"id": "01890000-0000-7000-8000-0000000000bb", "text": "hello"}).encode()
    url = f"{system.address('ingest')}/v1/conversations/{ROOM}/messages"
    headers = {"Authorization": f"Bearer {token(user)}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers)
    await asyncio.to_thread(lambda: urllib.request.urlopen(request).read())


class Session:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, system: System, user: str) -> "Session":
        port = int(system.address("fanout").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        session = cls(reader, writer)
        writer.write(HANDSHAKE)
        await reader.readuntil(b"\r\n\r\n")
        session.say({"type": "hello", "token": token(user)})
        return session

    def say(self, frame: dict):
        text = json.dumps(frame).encode()
        size = bytes([0x80 | len(text)]) if len(text) < 126 else bytes([0x80 | 126]) + len(text).to_bytes(2, "big")
        self.writer.write(b"\x81" + size + bytes(4) + text)

    async def frame(self, kind: str) -> bytes:
        while True:
            head = await self.reader.readexactly(2)
            size = head[1] & 0x7F
            if size > 125:
                size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8), "big")
            payload = await self.reader.readexactly(size)
            if head[0] == 0x81 and payload.startswith(b'{"type":"%s"' % kind.encode()):
                return payload

    async def live(self, started: float) -> float:
        """Until a ping said behind `welcome` is answered: the fanout has its thread back."""
        self.say({"type": "ping"})
        await self.frame("pong")
        return time.monotonic() - started

    def close(self):
        self.writer.transport.abort()


class Health:
    """Asks /healthz again and again in a thread of its own, and looks at the fanout's CPU time."""

    def __init__(self, system: System):
        self._url = system.address("fanout") + "/healthz"
        self._stat = Path(f"/proc/{system.pid('fanout')}/stat")
        self._taken: list[float] = []
        self._cpu = self._seconds()
        self._is_over = False
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def take(self) -> dict:
        time.sleep(0.02)
        taken, self._taken = self._taken, []
        cpu, self._cpu = self._cpu, self._seconds()
        taken.sort()
        return {
            "healthz p50 ms": ms(taken[len(taken) // 2]) if taken else None,
            "healthz max ms": ms(taken[-1]) if taken else None,
            "fanout CPU ms": ms(self._cpu - cpu),
        }

    def end(self) -> dict:
        result = self.take()
        self._is_over = True
        self._thread.join()
        return result

    def _ask(self):
        while not self._is_over:
            started = time.monotonic()
            urllib.request.urlopen(self._url, timeout=60).read()
            self._taken.append(time.monotonic() - started)
            time.sleep(0.001)

    def _seconds(self) -> float:
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def slot(user: str) -> int:
    """As `Slot(ofUserNamed:)`."""
    value = 0xCBF29CE484222325
    for byte in user.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    value ^= value >> 32
    value ^= value >> 16
    return (value ^ value >> 8) & 0xFF


def ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


# Groups of two: the user and somebody who never comes. Small enough that their members see each other online.
CONVERSATIONS = """
CREATE TEMPORARY TABLE made AS
    SELECT gen_random_uuid() AS id FROM generate_series(1, {count});
INSERT INTO store.conversations (slot, id, kind, title, creator_id, created_at, last_seq, last_at, member_count)
    SELECT get_byte(uuid_send(id), 15), id, 1, 'group', '{user}', now(), 1, now(), 2 FROM made;
INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
    SELECT get_byte(uuid_send(id), 15), id, '{user}', 1, 2 FROM made;
INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
    SELECT {slot}, '{user}', id, get_byte(uuid_send(id), 15) FROM made;
"""

ROOM_ROW = """
INSERT INTO store.conversations (slot, id, kind, title, creator_id, created_at, last_seq, last_at, member_count)
    VALUES (get_byte(uuid_send('{room}'), 15), '{room}', 1, 'room', 'member-0', now(), 1, now(), {count})
"""

MEMBER_ROWS = """
CREATE TEMPORARY TABLE made (name, user_slot) AS VALUES {members};
INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
    SELECT get_byte(uuid_send('{room}'), 15), '{room}', name, 1, 1 FROM made;
INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
    SELECT user_slot, name, '{room}', get_byte(uuid_send('{room}'), 15) FROM made;
"""

if __name__ == "__main__":
    main()
