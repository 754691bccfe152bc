#!/usr/bin/env python3
"""What a long history costs, and what it costs to remove the older half of it (`PARLEY_RETENTION`).

A thousand conversations have so many messages, half of them 40 days old (`long_history.py`). Measured are the disk,
the depth of the indexes, a vacuum, sends, pages of history, and searches; then the store is told to keep 30 days, and
while the old half goes, how fast it does and how long sends of 1,000 a second take beside it; and then all again.

    Tests/Load/retention.py [--messages N] [--removed N] [--json FILE]

Ten million messages take a quarter of an hour on 2 quiet cores, and 8 GB of disk. Of a hundred million one can watch
the first five that go (`--removed 5000000`): it then ends before the second measurement.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import floors  # noqa: E402
import storage  # noqa: E402
from client import token  # noqa: E402
from long_history import LongHistory  # noqa: E402
from system import EXECUTABLES, System  # noqa: E402
from unlimited import UnlimitedSystem  # noqa: E402

KEPT_DAYS, OLD_DAYS = 30, 40
PAGES = 300
# Conversations whose messages are all in the index of the search, and searches of each kind.
SEARCHED, SEARCHES = 20, 100
CONVERSATIONS = """
    SELECT g.id, g.members[1], c.kept_from, c.last_seq
    FROM public.growth g JOIN store.conversations c USING (slot, id)
    ORDER BY g.n
"""
DEPTHS = """
    SELECT json_object_agg(c.relname, (bt_metap(c.oid::regclass::text)).level)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE i.indrelid = 'store.messages'::regclass AND a.amname = 'btree'
"""


def main():
    options = arguments()
    system, results = UnlimitedSystem(), {"messages": options.messages}
    try:
        system.up()
        floors.psql(system, "CREATE EXTENSION IF NOT EXISTS pageinspect")
        history = LongHistory(system, searched=SEARCHED)
        # What made the conversations comes before all of it.
        floors.psql(system, f"UPDATE store.messages SET created_at = created_at - interval '{OLD_DAYS} days'")
        history.grow(options.messages // 2, days_ago=OLD_DAYS)
        history.grow(options.messages)
        print("all is written", file=sys.stderr)
        results["before"] = measured(system)
        print(json.dumps(results, indent=2), file=sys.stderr)
        half = options.messages // 2
        results["removal"] = removed(system, min(half, options.removed or half))
        if not options.removed:
            results["after"] = measured(system)
    finally:
        system.remove()
    print(json.dumps(results, indent=2))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000_000, help="twenty thousand times any number")
    parser.add_argument("--removed", type=int, help="end when so many are removed; without it, when the older half is")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    return parser.parse_args()


def measured(system: System) -> dict:
    started = time.monotonic()
    floors.psql(system, "VACUUM (ANALYZE) store.messages")
    vacuum = time.monotonic() - started
    tables = {name: round(sum(parts) / 1e6) for name, parts in storage.sizes(system).items() if sum(parts) >= 1e6}
    return {
        "messagesStored": int(floors.psql(system, "SELECT count(*) FROM store.messages")),
        "megabytes": tables,
        "levelsAboveLeaves": json.loads(floors.psql(system, DEPTHS)),
        "vacuumSeconds": round(vacuum, 1),
        "pageMilliseconds": pages(system),
        "searchMilliseconds": searches(system),
        "sendsAt1000": load(system, "--pairs", 100, "--rate", 1000),
        "sends": load(system, "--pairs", 100, "--in-flight", 10),
    }


def load(system: System, *scenario) -> dict:
    with tempfile.NamedTemporaryFile() as file:
        times = ["--duration", "10s", "--warmup", "2s", "--settle", "60s", "--check", "20"]
        done = system.run(EXECUTABLES / "parley", "load", "pairs", *map(str, scenario), *times, "--json", file.name)
        if not (text := Path(file.name).read_text()):
            raise SystemExit(f"status {done.returncode}, no report: {done.stderr}")
    report = json.loads(text)
    latency = report["latencyMilliseconds"]["sendToReceive"]
    return {"perSecond": round(report["acknowledgedPerSecond"])} | {
        part: round(latency[part], 2) for part in ("p50", "p99")
    }


def pages(system: System) -> dict:
    """Of 50 messages somewhere in a history, by one reader at a time. They come from the disk or not, as happens."""
    talks, taken = conversations(system), []
    chance = random.Random(1)
    for _ in range(PAGES):
        id, member, first, last = chance.choice(talks)
        seq = chance.randint(int(first or 1), int(last))
        page, time_taken = timed(system, f"/v1/conversations/{id}/messages?around={seq}&limit=50", member)
        taken.append(time_taken)
        assert len(page["messages"]) >= 20, (id, seq, page)
    return percentiles(taken)


def searches(system: System) -> dict:
    """By one reader at a time, in a history that is in the index as a whole: for a word that one text in 400 has, for
    three that hardly one has, and for a word that none has."""
    talks, chance = conversations(system)[:SEARCHED], random.Random(1)
    kinds = {
        "a word": lambda: word(chance),
        "three words": lambda: " ".join(word(chance) for _ in range(3)),
        "nothing": lambda: f"{word(chance)}z",
    }
    results = {}
    for kind, query in kinds.items():
        taken, hits = [], 0
        for _ in range(SEARCHES):
            _, member, _, _ = chance.choice(talks)
            found, time_taken = timed(system, f"/v1/search?q={quote(query())}", member)
            taken.append(time_taken)
            assert kind != "nothing" or not found["results"], found
            hits += bool(found["results"])
        results[kind] = percentiles(taken) | {"found": hits}
    return results


def word(chance: random.Random) -> str:
    """One of those that the texts of `long_history.py` are made of."""
    return f"{chance.randrange(4096):03x}"


def conversations(system: System) -> list[list[str]]:
    return [row.split("|") for row in floors.psql(system, CONVERSATIONS).splitlines()]


def timed(system: System, path: str, user: str) -> tuple[dict, float]:
    """The response to a GET, and how many milliseconds it took."""
    request = urllib.request.Request(
        system.address("ingest") + path, headers={"Authorization": f"Bearer {token(user)}"}
    )
    started = time.monotonic()
    body = urllib.request.urlopen(request, timeout=60).read()
    return json.loads(body), 1000 * (time.monotonic() - started)


def percentiles(taken: list[float]) -> dict:
    return {"p50": round(statistics.median(taken), 2), "p99": round(statistics.quantiles(taken, n=100)[98], 2)}


def removed(system: System, count: int) -> dict:
    """How long the old messages take to go, and what sends have of it."""
    system.change("store", 0, PARLEY_RETENTION=f"{KEPT_DAYS}d")
    while not system.is_ready("store"):
        time.sleep(0.01)
    started, beside = time.monotonic(), []
    while gone(system) < count // 100:
        time.sleep(0.1)
    while gone(system) < count - 20_000 or not beside:
        beside.append(load(system, "--pairs", 100, "--rate", 1000))
    while gone(system) < count:
        time.sleep(0.5)
    seconds = time.monotonic() - started
    return {"seconds": round(seconds), "messagesPerSecond": round(count / seconds), "sendsBeside": beside}


def gone(system: System) -> int:
    text = urllib.request.urlopen(f"{system.address('store')}/metrics", timeout=60).read().decode()
    [line] = [line for line in text.splitlines() if line.startswith("parley_store_messages_removed_total")]
    return int(float(line.split()[-1]))


if __name__ == "__main__":
    main()
