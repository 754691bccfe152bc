#!/usr/bin/env python3
"""What lists and writes of several slots cost on a coordinator and two workers, beside one PostgreSQL.

    PARLEY_EXECUTABLES=… Tests/Load/citus_requests.py [--conversations 50 10000] [--requests 15]

Two stores serve a cluster, one serves one PostgreSQL. Users have conversations in all slots, each with a message, as
the services would have left them. The two take turns at writes, and at lists, welcomes, rounds of sync and searches;
told are medians, in milliseconds as a client sees them. Files are in TMPDIR.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "Citus"))

import aiohttp  # noqa: E402
from cluster import Cluster, missing  # noqa: E402
from serving import Serving, slot_of  # noqa: E402
from system import System  # noqa: E402

from client import token  # noqa: E402

FILL = """
    CREATE TEMPORARY TABLE made AS
        SELECT ('{mark}-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id, (n % 256)::smallint AS slot,
            timestamptz '2026-01-01' + n * interval '1 min' AS at
        FROM generate_series(0, {count} - 1) n;
    INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
        SELECT slot, id, 1, 'other', at, 2, at, 2 FROM made;
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at)
        SELECT slot, id, 1, 8, 'other', at FROM made;
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
        SELECT slot, id, 2, gen_random_uuid(), 2, 'other', 1, 'a message that is the last one', at, at FROM made;
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
        SELECT slot, id, member, 1, 1 FROM made, (VALUES ('{user}'), ('other')) AS m (member);
    INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
        SELECT {user_slot}, '{user}', id, slot FROM made;
"""


class Plain:
    """One PostgreSQL, with one process of every service."""

    name = "one PostgreSQL"

    def __init__(self):
        self.system = System()
        self.system.up()

    def address(self, service: str) -> str:
        return self.system.address(service, 0)

    def sql(self, sql: str):
        socket = (self.system.state / "postgres" / "postmaster.pid").read_text().splitlines()[4].strip()
        url = f"host={socket} port=5432 dbname=parley user=postgres"
        subprocess.run(["psql", "-XAtq", "--set=ON_ERROR_STOP=1", url, "--file=-"], input=sql, text=True, check=True)

    def analyze(self):
        self.sql("ANALYZE")

    def remove(self):
        self.system.remove()


class Distributed:
    name = "two workers"

    def __init__(self):
        self.cluster = Cluster()
        self.serving = Serving(self.cluster)
        self.serving.start("fanout")
        self.serving.wait(lambda: self.cluster.system.is_ready("fanout", 0))

    def address(self, service: str) -> str:
        return self.serving.address(service)

    def sql(self, sql: str):
        self.cluster.sql(sql)

    def analyze(self):
        for table in ("conversations", "changes", "messages", "memberships", "inbox"):
            self.cluster.sql(f"ANALYZE store.{table}")

    def remove(self):
        self.serving.stop()
        self.cluster.remove()


def get(way, user: str, path: str) -> dict:
    return ask(way, user, "GET", path)


def ask(way, user: str, method: str, path: str, body=None, key: str | None = None):
    request = urllib.request.Request(
        way.address("ingest") + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token(user)}", "Content-Type": "application/json"}
        | ({"Idempotency-Key": key} if key else {}),
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.loads(answer.read() or "null")


# Writes. Each user of a group has another slot.


def create(way, count: int) -> str:
    body = {"id": str(uuid.uuid4()), "kind": "group", "members": [f"member-{number}" for number in range(1, count)]}
    return ask(way, "member-0", "POST", "/v1/conversations", body)["id"]


def group_of_3(way, _):
    create(way, 3)


def group_of_50(way, _):
    create(way, 50)


def sent(way, conversation: str) -> str:
    body = {"id": str(uuid.uuid4()), "text": "a message"}
    return ask(way, "member-0", "POST", f"/v1/conversations/{conversation}/messages", body)["id"]


def edited(way, conversation: str, key: str | None = None):
    path = f"/v1/conversations/{conversation}/messages/{MESSAGES[way.name]}"
    ask(way, "member-0", "PATCH", path, {"text": f"now {uuid.uuid4()}"}, key)


def edited_with_a_key(way, conversation: str):
    edited(way, conversation, str(uuid.uuid4()))


def drafted(way, conversation: str):
    ask(way, "member-0", "PUT", f"/v1/conversations/{conversation}/draft", {"text": f"well, {uuid.uuid4()}"})


MESSAGES: dict = {}
WRITES = (sent, edited, edited_with_a_key, drafted, group_of_3, group_of_50)


# Reads


def listed(way, user: str):
    assert len(get(way, user, "/v1/conversations?limit=50")["conversations"]) == 50


def searched(way, user: str):
    get(way, user, "/v1/search?q=message&limit=20")


def synced(way, user: str):
    since = CURSORS.setdefault((way.name, user), None) or whole_sync(way, user)
    CURSORS[way.name, user] = get(way, user, f"/v1/sync?since={since}")["cursor"]


CURSORS: dict = {}


def whole_sync(way, user: str) -> str:
    cursor, more = None, True
    while more:
        page = get(way, user, "/v1/sync" + (f"?since={cursor}" if cursor else ""))
        cursor, more = page["cursor"], page["more"]
    return cursor


def welcomed(way, user: str):
    async def welcome():
        url = way.address("fanout").replace("http", "ws") + "/v1/socket"
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(url, protocols=["parley.v1"], max_msg_size=0) as socket,
        ):
            await socket.send_str(json.dumps({"type": "hello", "token": token(user)}))
            assert json.loads((await socket.receive(timeout=60)).data)["type"] == "welcome"

    asyncio.run(welcome())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, nargs="*", default=[50, 10_000])
    parser.add_argument("--requests", type=int, default=15)
    options = parser.parse_args()
    if reason := missing():
        sys.exit(reason)
    ways = [Plain(), Distributed()]
    try:
        users = {count: f"user-{count}" for count in options.conversations}
        for way in ways:
            for count, user in users.items():
                mark = uuid.uuid4().hex[:8]
                way.sql(FILL.format(mark=mark, count=count, user=user, user_slot=slot_of(user)))
            way.analyze()
        groups = {way: create(way, 3) for way in ways}
        MESSAGES.update({way.name: sent(way, group) for way, group in groups.items()})
        for what in WRITES:
            measure(what.__name__, what, groups, options.requests)
        for count, user in users.items():
            for what in (listed, welcomed, synced, searched):
                measure(f"{what.__name__}, {count} conversations", what, dict.fromkeys(ways, user), options.requests)
    finally:
        for way in ways:
            way.remove()


def measure(name: str, what, arguments: dict, requests: int):
    """Prints what a request takes on both, which take turns."""
    told = {way.name: [] for way in arguments}
    for number in range(requests + 2):
        for way, argument in arguments.items():
            start = time.monotonic()
            what(way, argument)
            if number > 1:
                told[way.name].append(1000 * (time.monotonic() - start))
    medians = ", ".join(f"{way} {statistics.median(times):.1f} (best {min(times):.1f})" for way, times in told.items())
    print(f"{name}: {medians}", flush=True)


if __name__ == "__main__":
    main()
