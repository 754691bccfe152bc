#!/usr/bin/env python3
"""Measures a message that many have reacted to: how long a tapback and the page of history take that shows it, through
the public API of a system of its own, beside a request to `ingest` that asks nobody.

    Tests/Load/tapbacks.py [--tapbacks 1000 10000 100000]
"""

import argparse
import http.client
import json
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from itertools import count
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))

from system import EXECUTABLES  # noqa: E402
from unlimited import UnlimitedSystem  # noqa: E402

USERS = [f"user{n}" for n in range(50)]
TIMES = 100


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapbacks", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="on the message")
    numbers = parser.parse_args().tapbacks
    system = UnlimitedSystem()
    system.up()
    try:
        bench = Bench(system)
        for number in [len(USERS), *numbers]:
            bench.react(number)
            bench.measure(number)
    finally:
        system.remove()


class Bench:
    def __init__(self, system: UnlimitedSystem):
        self.system = system
        self.connection = http.client.HTTPConnection(system.address("ingest").removeprefix("http://"))
        self.tokens = {user: self.token(user) for user in ["alice", *USERS]}
        self.numbers = count()
        self.there = len(USERS)
        self.conversation, self.message = str(uuid.uuid4()), str(uuid.uuid4())
        self.ask("alice", "POST", "/v1/conversations", {"id": self.conversation, "kind": "group", "members": USERS})
        self.ask("alice", "POST", f"{self.path}", {"id": self.message, "text": "We are moving."})
        for _ in USERS:
            self.tapback()

    @property
    def path(self) -> str:
        return f"/v1/conversations/{self.conversation}/messages"

    def token(self, user: str) -> str:
        return self.system.run(EXECUTABLES / "parley", "token", "--user", user).stdout.split()[-1]

    def ask(self, user: str, method: str, path: str, body: object = None):
        headers = {"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": "application/json"}
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self.connection.getresponse()
        content = response.read()
        assert response.status < 300, (response.status, content)

    def tapback(self):
        """Of one user after the other, and each time another one."""
        number = next(self.numbers)
        kind = ("like", "love")[number // len(USERS) % 2]
        self.ask(USERS[number % len(USERS)], "PUT", f"{self.path}/{self.message}/tapback", {"kind": kind})

    def react(self, number: int):
        """Adds tapbacks up to a number, of users whom nobody has to create."""
        added = number - self.there
        self.there = number
        self.system.sql(
            f"""
            INSERT INTO store.tapbacks (slot, conversation_id, message_id, user_id, kind, at, seq)
            SELECT c.slot, c.id, '{self.message}', 'other' || c.last_seq + n, 'like', now(), c.last_seq + n
            FROM store.conversations c, generate_series(1, {added}) n WHERE c.id = '{self.conversation}';
            UPDATE store.messages m SET tapback_count = {number}, changed_seq = c.last_seq + {added}
            FROM store.conversations c WHERE c.id = '{self.conversation}' AND m.id = '{self.message}';
            UPDATE store.conversations SET last_seq = last_seq + {added} WHERE id = '{self.conversation}';
            ANALYZE store.tapbacks
            """
        )

    def measure(self, number: int):
        floor = self.median(lambda: self.ask("alice", "GET", "/healthz"))
        tapback = self.median(self.tapback)
        page = self.median(lambda: self.ask("user1", "GET", f"{self.path}?limit=50"))
        print(f"{number:7,} tapbacks: a tapback {tapback:.2f} ms, a page {page:.2f} ms, /healthz {floor:.2f} ms")

    def median(self, action: Callable[[], None]) -> float:
        times = []
        for _ in range(TIMES):
            start = time.perf_counter()
            action()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1_000


if __name__ == "__main__":
    main()
