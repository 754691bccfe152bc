#!/usr/bin/env python3
"""Measures what people do in a group as it grows, through the public API of a system of its own: writing, reading,
receipts, coming and going, and what the last owner's leaving costs.

Groups of each size are imported: members, 200 messages, and receipts of every member. There are 50,000 small ones
beside them, so that PostgreSQL's statistics are those of a system that is used. Then each kind of call is made again
and again by one client on one connection. Its time stands beside that of /healthz in the same run, which asks nobody.
Nothing is asserted.

    Tests/Load/large_group.py [--members N…] [--calls N] [--json FILE]
"""

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import floors  # noqa: E402
from client import token  # noqa: E402
from large_accounts import CONVERSATIONS, slot  # noqa: E402
from system import EXECUTABLES  # noqa: E402
from unlimited import UnlimitedSystem  # noqa: E402

MESSAGES = 200
# The last leaves room for those who come.
SIZES = [50, 1_000, 10_000, 99_000]
OWNER = "the-owner"
WRITER = "the-writer"
READ = {"deliveredSeq": 1 << 40, "readSeq": 1 << 40}
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class LargeGroupSystem(UnlimitedSystem):
    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"PARLEY_MEMBERS_PER_CONVERSATION": "100000"}


def main():
    options = arguments()
    system = LargeGroupSystem()
    results = []
    try:
        system.up()
        floors.psql(system, CONVERSATIONS.format(user="of-many", slot=slot("of-many"), count=50_000))
        for count in options.members:
            results.append(Group(system, count).measure(options.calls))
            print(json.dumps(results[-1]), file=sys.stderr)
    finally:
        system.remove()
    print_table(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, nargs="+", default=SIZES)
    parser.add_argument("--calls", type=int, default=30, help="of each kind (default 30)")
    parser.add_argument("--json", type=Path, help="writes the numbers there, too")
    return parser.parse_args()


class Group:
    """One group, and a client that acts for each of its members."""

    def __init__(self, system: LargeGroupSystem, count: int):
        self.system = system
        self.count = count
        self.id = str(uuid.uuid4())
        self.path = f"/v1/conversations/{self.id}"
        self.http = http.client.HTTPConnection(*system.address("ingest").removeprefix("http://").split(":"))
        self.tokens: dict[str, str] = {}
        self.messages = [str(uuid.uuid4()) for _ in range(MESSAGES)]
        self.sent = [str(uuid.uuid4()) for _ in range(MESSAGES)]

    def measure(self, calls: int) -> dict:
        started = time.monotonic()
        self.fill()
        filled = time.monotonic() - started
        floors.psql(self.system, "VACUUM ANALYZE")
        self.call("GET", self.path, WRITER)
        times = {name: self.times(call, calls) for name, call in self.kinds().items()}
        return {"members": self.count, "filled s": round(filled, 1), "calls": times}

    def times(self, call, calls: int) -> dict:
        taken = []
        for number in range(calls):
            started = time.perf_counter()
            call(number)
            taken.append((time.perf_counter() - started) * 1000)
        return {"p50 ms": round(statistics.median(taken), 2), "max ms": round(max(taken), 2)}

    def kinds(self) -> dict:
        """In this order: some undo what others have done."""
        code = self.call("POST", f"{self.path}/invitations", OWNER, {"id": str(uuid.uuid4())})["code"]
        last, members, messages = f"member-{self.count - 1}", f"{self.path}/members", f"{self.path}/messages"
        return {
            "nothing (/healthz)": lambda _: self.call("GET", "/healthz", WRITER),
            "send": lambda n: self.call("POST", messages, WRITER, {"id": self.sent[n], "text": f"hello {n}"}),
            "edit": lambda n: self.call("PATCH", f"{messages}/{self.sent[n]}", WRITER, {"text": f"better {n}"}),
            "react": lambda n: self.call("PUT", f"{messages}/{self.sent[n]}/tapback", last, {"kind": "love"}),
            "read receipt": lambda n: self.call("POST", f"{self.path}/receipts", f"member-{n % self.count}", READ),
            "conversation": lambda _: self.call("GET", self.path, last),
            "list of conversations": lambda _: self.call("GET", "/v1/conversations", last),
            "50 messages": lambda _: self.call("GET", f"{messages}?limit=50", last),
            "200 messages of one's own": lambda _: self.call("GET", f"{messages}?limit=200", OWNER),
            "receipts of a message": lambda n: self.call("GET", f"{messages}/{self.messages[n]}/receipts", OWNER),
            "1,000 members": lambda _: self.call("GET", f"{members}?limit=1000", last),
            "add": lambda n: self.call("PUT", f"{members}/new-{n}", OWNER),
            "join": lambda n: self.call("POST", f"/v1/invitations/{code}", f"joining-{n}"),
            "remove": lambda n: self.call("DELETE", f"{members}/new-{n}", OWNER),
            "leave": lambda n: self.call("DELETE", f"{members}/joining-{n}", f"joining-{n}"),
            "the last owner leaves": self.hand_over,
        }

    def hand_over(self, number: int):
        """Whoever has been there for longest becomes the owner, and leaves in turn."""
        owner = f"member-{number - 1}" if number else OWNER
        self.call("DELETE", f"{self.path}/members/{owner}", owner)

    # The content

    def fill(self):
        """Imports it, as an archive is."""
        with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as file:
            for seconds, record in enumerate(self.records()):
                at = (BEGINNING + timedelta(milliseconds=seconds)).isoformat(timespec="milliseconds")
                file.write(json.dumps(record | {record.pop("time"): at.replace("+00:00", "Z")}) + "\n")
            file.flush()
            command = [EXECUTABLES / "parley", "import", "parley", file.name]
            done = subprocess.run(command, env=self.system.environment, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"the import failed: {done.stdout[-500:]} {done.stderr[-500:]}")

    def records(self) -> Iterator[dict]:
        """Each with the name of the field that is its time."""
        about = {"conversationId": self.id}
        members = [f"member-{number}" for number in range(self.count)]
        yield {"type": "conversation", "id": self.id, "kind": "group", "members": [OWNER, WRITER], "time": "createdAt"}
        for name in members:
            yield about | {"type": "member", "userId": name, "change": "added", "time": "at"}
        for id in self.messages:
            text = f"message {id}"
            yield about | {"type": "message", "id": id, "senderId": OWNER, "text": text, "time": "createdAt"}
        for name in members:
            for kind in ("delivered", "read"):
                through = self.messages[-1]
                receipt = {"type": "receipt", "userId": name, "kind": kind, "throughMessageId": through}
                yield about | receipt | {"time": "at"}
        yield about | {"type": "end", "time": "at"}

    def call(self, method: str, path: str, user: str, body: dict | None = None) -> dict:
        if user not in self.tokens:
            self.tokens[user] = token(user)
        headers = {"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": "application/json"}
        self.http.request(method, path, None if body is None else json.dumps(body), headers)
        response = self.http.getresponse()
        content = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {content.decode()}")
        return json.loads(content) if content.startswith(b"{") else {}


def print_table(results: list[dict]):
    """Medians by the number of members."""
    print(f"{'ms, median (and highest)':28}" + "".join(f"{result['members']:>18,}" for result in results))
    for name in results[0]["calls"]:
        cells = (result["calls"][name].values() for result in results)
        print(f"{name:28}" + "".join(f"{f'{median} ({highest})':>18}" for median, highest in cells))


if __name__ == "__main__":
    main()
