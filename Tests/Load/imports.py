#!/usr/bin/env python3
"""How fast a history is imported, alone and beside live messages, and what that costs their latency.

    Tests/Load/imports.py [--seconds N] [--rate N] [--conversations N] [--receipts] [--rounds N] [--json FILE]

On a system of its own: an import alone, `parley load pairs --rate` alone, and both at the same time, in turns, because
other machines' and other programs' work changes the speed within minutes. An import that is at its end before the load
is followed by the next. With `--receipts` two lines follow each message: when the others got it and read it. Lines are
made before they are sent. Ends with 1 when a line was refused, or a live message was lost, doubled or out of order.
"""

import argparse
import json
import socket
import statistics
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "System"))

from client import token  # noqa: E402
from system import EXECUTABLES, System  # noqa: E402
from unlimited import UnlimitedSystem  # noqa: E402

PIECE = 64 * 1024
TEXT = (
    "a message of a history that is as long as messages are, said in a hundred and twenty characters, more or less, no"
)


def main() -> int:
    options = arguments()
    system = UnlimitedSystem()
    system.up()
    try:
        rounds = [measure(system, options) for _ in range(options.rounds)]
    finally:
        system.remove()
    result = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    for one in rounds:
        show(one)
    print("medians:")
    show(result)
    if options.json:
        Path(options.json).write_text(json.dumps(rounds, indent=2) + "\n")
    return 1 if any(one["refused"] or one["mismatches"] for one in rounds) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10, help="of each load (default 10)")
    parser.add_argument("--rate", type=int, default=1000, help="live messages a second (default 1,000)")
    parser.add_argument("--conversations", type=int, default=64, help="that are imported (default 64)")
    parser.add_argument("--messages", type=int, default=2000, help="in each of them (default 2,000)")
    parser.add_argument("--receipts", action="store_true", help="two receipts follow each message")
    parser.add_argument("--rounds", type=int, default=3, help="how often (default 3)")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    return parser.parse_args()


def show(one: dict):
    print(
        f"{one['alone']:,.0f} lines/s alone, {one['beside']:,.0f} beside live messages; their p50 "
        f"{one['p50Alone']:.2f} → {one['p50Beside']:.2f} ms, p99 {one['p99Alone']:.1f} → {one['p99Beside']:.1f} ms"
    )


def measure(system: System, options: argparse.Namespace) -> dict:
    alone = Importing(system, options).once()
    quiet = live(system, options)
    imports = Importing(system, options)
    imports.begin()
    busy = live(system, options)
    beside = imports.end()
    return {
        "alone": alone.rate,
        "beside": beside.rate,
        "refused": alone.refused + beside.refused,
        "mismatches": quiet["mismatches"] + busy["mismatches"],
        **{f"{name}Alone": latency(quiet, name) for name in ("p50", "p99")},
        **{f"{name}Beside": latency(busy, name) for name in ("p50", "p99")},
    }


def live(system: System, options: argparse.Namespace) -> dict:
    with tempfile.NamedTemporaryFile() as report:
        command = [EXECUTABLES / "parley", "load", "pairs", "--pairs", "100", "--rate", str(options.rate)]
        times = ["--duration", f"{options.seconds}s", "--warmup", "2s", "--check", "5"]
        done = system.run(*command, *times, "--json", report.name)
        print(done.stdout, file=sys.stderr)
        return json.loads(Path(report.name).read_text())


def latency(report: dict, name: str) -> float:
    return report["latencyMilliseconds"]["sendToReceive"][name]


class Importing:
    """Imports of the same size, one after the other, and how many lines got a result in a second."""

    def __init__(self, system: System, options: argparse.Namespace):
        self.system = system
        self.options = options
        self.lines = self.refused = 0
        self.seconds = 0.0
        self._thread = threading.Thread(target=self._run)
        self._is_ending = False
        self._bodies = [body(options)]

    @property
    def rate(self) -> float:
        return self.lines / self.seconds

    def once(self) -> "Importing":
        self._bring(self._bodies[0])
        return self

    def begin(self):
        # As many as may be needed, so that making them takes nobody's time.
        lines = self.options.conversations * self.options.messages * (3 if self.options.receipts else 1)
        while len(self._bodies) * lines < 50_000 * (self.options.seconds + 5):
            self._bodies.append(body(self.options))
        self._thread.start()

    def end(self) -> "Importing":
        self._is_ending = True
        self._thread.join()
        return self

    def _run(self):
        for pieces in self._bodies:
            if not self._is_ending:
                self._bring(pieces)

    def _bring(self, pieces: list[bytes]):
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", self.system.http_port)) as connection:
            reader = threading.Thread(target=self._read, args=[connection])
            reader.start()
            head = f"POST /v1/import HTTP/1.1\r\nHost: parley\r\nAuthorization: Bearer {token('backend', adm=True)}\r\n"
            connection.sendall(f"{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            for piece in pieces:
                if self._is_ending:
                    break
                connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            connection.sendall(b"0\r\n\r\n")
            reader.join()
        self.seconds += time.monotonic() - begun

    def _read(self, connection: socket.socket):
        # A result may lie across two pieces.
        rest = b""
        while piece := connection.recv(1 << 18):
            done, _, rest = (rest + piece).rpartition(b"\n")
            self.lines += done.count(b'"status":200')
            self.refused += done.count(b'"status":4') + done.count(b'"status":5')


def body(options: argparse.Namespace) -> list[bytes]:
    """Lines of some conversations, mixed, in pieces."""
    ids = [str(uuid.uuid4()) for _ in range(options.conversations)]
    members = [f"user-{uuid.uuid4().hex[:8]}" for _ in range(3)]
    opening = f'"kind":"group","members":{json.dumps(members)},"createdAt":"{moment(0)}"}}'
    lines = [f'{{"type":"conversation","id":"{id}",{opening}' for id in ids]
    first = uuid.uuid4().int >> 32 << 32
    for number in range(1, options.messages + 1):
        at, later = moment(number), moment(number + 0.5)
        for place, conversation in enumerate(ids):
            first += 1
            message, head = str(uuid.UUID(int=first)), f'"conversationId":"{conversation}"'
            sender = members[(number + place) % 3]
            lines.append(
                f'{{"type":"message",{head},"id":"{message}","senderId":"{sender}","text":"{TEXT}","createdAt":"{at}"}}'
            )
            if options.receipts:
                lines += [
                    f'{{"type":"receipt",{head},"userId":"{user}","kind":"read","throughMessageId":"{message}","at":"{later}"}}'
                    for user in members
                    if user != sender
                ]
    lines += [f'{{"type":"end","conversationId":"{id}"}}' for id in ids]
    text = ("\n".join(lines) + "\n").encode()
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def moment(second: float) -> str:
    return time.strftime("2020-01-01T%H:%M:%S", time.gmtime(int(second))) + f".{int(second % 1 * 1000):03}Z"


if __name__ == "__main__":
    sys.exit(main())
