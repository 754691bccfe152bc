"""Stands between the publishers and the listeners of a bus on unix sockets and loses, repeats, delays and cuts.

    python -m faults.bus SOCKETS THROUGH SEED

For every `SOCKETS/<service>-<n>.sock` there is one of the same name in THROUGH, where listeners are told to look. Each
line of standard input is a JSON object that replaces what is done to frames from then on:

    lose, repeat   the share of frames from publishers that do not come, or come twice
    delay          the most seconds that a frame waits; later ones overtake it
    mute           publishers of which no frame comes while their connections stay
    cut            processes from and to which nothing comes at all
    late           seconds that subscriptions take
    break          true: all connections end now, and are made again

It knows of ZMTP (rfc.zeromq.org/spec/37) only where frames begin and end.
"""

import asyncio
import json
import random
import sys
from pathlib import Path

GREETING_BYTES = 64
COMMAND = 0x04
LONG = 0x02


class Proxy:
    def __init__(self, sockets: Path, through: Path, seed: str):
        self.sockets = sockets
        self.through = through
        self.random = random.Random(seed)
        self.orders: dict = {}
        self.lost = self.repeated = self.delayed = 0
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self):
        for path in sorted(self.sockets.glob("*-*.sock")):
            await asyncio.start_unix_server(
                lambda reader, writer, path=path: self._connected(path, reader, writer), self.through / path.name
            )
        print("ready", flush=True)
        stdin = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
        while line := await stdin.readline():
            self.orders = json.loads(line)
            if self.orders.get("break"):
                for writer in self._open:
                    writer.close()
            print(json.dumps([self.lost, self.repeated, self.delayed]), flush=True)

    def _is_cut(self, publisher: str) -> bool:
        return publisher in self.orders.get("cut", ())

    async def _connected(self, path: Path, listener: asyncio.StreamReader, to_listener: asyncio.StreamWriter):
        publisher = path.stem
        try:
            while self._is_cut(publisher):
                await asyncio.sleep(0.05)
            from_publisher, to_publisher = await asyncio.open_unix_connection(path)
        except OSError:
            return to_listener.close()
        self._open |= {to_listener, to_publisher}
        passing = [
            asyncio.create_task(self._pass(from_publisher, to_listener, publisher, self._publish)),
            asyncio.create_task(self._pass(listener, to_publisher, publisher, self._subscribe)),
        ]
        await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        for task in passing:
            task.cancel()
        for writer in (to_listener, to_publisher):
            self._open.discard(writer)
            writer.close()

    async def _pass(self, reader, writer, publisher, treat):
        try:
            await _greet(reader, writer)
            while True:
                head = await reader.readexactly(2)
                if head[0] & LONG:
                    head += await reader.readexactly(7)
                body = await reader.readexactly(int.from_bytes(head[1:], "big"))
                if not self._is_cut(publisher):
                    await treat(writer, publisher, head[0] & COMMAND, head + body)
        except (OSError, asyncio.IncompleteReadError):
            pass

    async def _publish(self, writer, publisher: str, is_command: int, frame: bytes):
        if is_command:
            return _write(writer, frame)
        if publisher in self.orders.get("mute", ()) or self.random.random() < self.orders.get("lose", 0):
            self.lost += 1
            return
        copies = 1 + (self.random.random() < self.orders.get("repeat", 0))
        self.repeated += copies - 1
        for _ in range(copies):
            delay = self.random.random() * self.orders.get("delay", 0)
            if delay:
                self.delayed += 1
                asyncio.get_running_loop().call_later(delay, _write, writer, frame)
            else:
                _write(writer, frame)

    async def _subscribe(self, writer, _publisher: str, _is_command: int, frame: bytes):
        await asyncio.sleep(self.orders.get("late", 0))
        _write(writer, frame)


async def _greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
    """As it comes: each side says the next part when it has heard the other's last."""
    left = GREETING_BYTES
    while left:
        part = await reader.read(left)
        if not part:
            raise asyncio.IncompleteReadError(part, left)
        writer.write(part)
        left -= len(part)


def _write(writer: asyncio.StreamWriter, frame: bytes):
    if not writer.is_closing():
        writer.write(frame)


if __name__ == "__main__":
    asyncio.run(Proxy(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]).serve())
