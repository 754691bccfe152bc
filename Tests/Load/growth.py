#!/usr/bin/env python3
"""How throughput and latency change as members, conversations, history, sessions or instances grow; a plot of each.

Each point is a run of `parley load` on a system of its own, the median of --runs. A run that lost, doubled or
disordered anything ends the script with status 1. Numbers go into growth.json, plots into growth-<name>.svg, in
Tests/Load/results; --plot-only draws again from the numbers.

    Tests/Load/growth.py [--quick] [--runs N] [--seconds N] [--only NAME…] [--output DIRECTORY] [--plot-only]

The whole of it takes about two hours; --quick, a few small points of a few seconds each to see that it works, five
minutes. Fifty thousand sessions need `ulimit -n 110000`.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import floors  # noqa: E402
from svgplot import Plot, Series  # noqa: E402
from system import EXECUTABLES, System  # noqa: E402

# A fanout has 20,000 connections at most, and a generator as many ports.
SESSIONS_PER_INSTANCE = 20_000


class Growth:
    """What grows: its points, those of --quick, and how one is measured."""

    def __init__(self, title, points, quick, measure, rate):
        self.title = title
        self.points = points
        self.quick = quick
        self.measure = measure
        # The figure of the left axis, and its name.
        self.rate = rate


def main() -> int:
    options = arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    file = options.output / "growth.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    for name in options.only or GROWTHS:
        if not options.plot_only:
            results[name] = measure(name, options)
            file.write_text(json.dumps(results, indent=2) + "\n")
        if name in results:
            draw(name, results[name], options.output)
    wrong = sum(point["mismatches"] for points in results.values() for point in points)
    print(f"mismatches: {wrong}")
    return 1 if wrong else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small points, one run each")
    parser.add_argument("--runs", type=int, help="of each point (default 3)")
    parser.add_argument("--seconds", type=int, help="of each run (default 10)")
    parser.add_argument("--only", action="append", choices=GROWTHS, help="this plot; may be repeated")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "Tests" / "Load" / "results")
    parser.add_argument("--plot-only", action="store_true", help="draw what was measured before")
    options = parser.parse_args()
    options.runs = options.runs or (1 if options.quick else 3)
    options.seconds = options.seconds or (2 if options.quick else 10)
    return options


def measure(name: str, options: argparse.Namespace) -> list[dict]:
    growth = GROWTHS[name]
    points = []
    for x in growth.quick if options.quick else growth.points:
        reports = [growth.measure(x, options.seconds) for _ in range(options.runs)]
        points.append(point(x, reports, growth.rate[0]))
        print(f"{name} {x:,}: {points[-1]}", flush=True)
    return points


def point(x: int, reports: list[dict], figure: str) -> dict:
    latencies = [next(iter(report["latencyMilliseconds"].values()), {}) for report in reports]
    return {
        "x": x,
        "rate": statistics.median(report[figure] for report in reports),
        "p50": statistics.median(latency.get("p50", 0) for latency in latencies),
        "p99": statistics.median(latency.get("p99", 0) for latency in latencies),
        "cpuSecondsPer1000": statistics.median(cpu(report) for report in reports),
        "mismatches": sum(report["mismatches"] for report in reports),
    }


def cpu(report: dict) -> float:
    return sum(each["cpuSecondsPer1000"] for each in report["processes"] if not each["name"].startswith("generator"))


# One point


def load(system: System, seconds: int, *scenario) -> dict:
    """A report of `parley load`."""
    with tempfile.NamedTemporaryFile() as report:
        times = ["--duration", f"{seconds}s", "--warmup", "1s", "--settle", "120s", "--check", "20"]
        command = [EXECUTABLES / "parley", "load", *map(str, scenario), *times, "--json", report.name]
        done = subprocess.run(command, env=system.environment, capture_output=True, text=True, timeout=3600)
        text = Path(report.name).read_text()
        if not text:
            raise SystemExit(f"{scenario}: status {done.returncode}, no report\n{done.stdout}{done.stderr}")
        if done.returncode:
            print(done.stdout, file=sys.stderr)
        return json.loads(text)


def on_new_system(body, instances: int = 1):
    system = System(instances)
    system.up()
    try:
        return body(system)
    finally:
        system.remove()


def members(count: int, seconds: int) -> dict:
    """One room, all online; the fewer members, the more messages in flight, so that deliveries are comparable."""
    in_flight = max(1, min(10, 5000 // count))
    options = ["room", "--members", count, "--senders", min(10, count), "--in-flight", in_flight]
    return on_new_system(lambda system: load(system, seconds, *options))


def conversations(count: int, seconds: int) -> dict:
    """A thousand messages are in flight, over so many conversations; at most a hundred of these have sessions."""
    options = ["pairs", "--pairs", count, "--online", min(count, 100), "--connections", min(count, 100)]
    options += ["--in-flight", max(1, 1000 // count)]
    return on_new_system(lambda system: load(system, seconds, *options))


def history(count: int, seconds: int) -> dict:
    """Sending into a database that holds so many messages already."""

    def run(system: System) -> dict:
        fill(system, count)
        return load(system, seconds, "pairs", "--pairs", 100, "--in-flight", 10)

    return on_new_system(run)


def fill(system: System, count: int):
    """Puts messages of a thousand conversations into the database, in parts, as if they had been sent long ago."""
    owner, part = uuid.uuid4(), 100_000
    floors.psql(
        system,
        f"""
        INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
            SELECT n & 255, c.id, 1, 'growth:{owner}', now(), 1, now(), 1 FROM generate_series(1, 1000) n,
            LATERAL (SELECT (left(gen_random_uuid()::text, 34) || lpad(to_hex(n & 255), 2, '0'))::uuid AS id) c;
        CREATE TABLE public.growth AS
            SELECT row_number() OVER () - 1 AS n, slot, id FROM store.conversations WHERE creator_id = 'growth:{owner}'
        """,
    )
    for start in range(0, count, part):
        floors.psql(
            system,
            f"""
            INSERT INTO store.messages
                (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
                SELECT g.slot, g.id, i / 1000 + 2, gen_random_uuid(), i / 1000 + 2, 'growth:{owner}', 1,
                    repeat('a message of long ago ', 5), now(), now()
                FROM generate_series({start}::bigint, {min(count, start + part) - 1}) i
                JOIN public.growth g ON g.n = i % 1000
            """,
        )
    floors.psql(
        system,
        f"""
        UPDATE store.conversations SET last_seq = 1 + {count} / 1000 + 1 WHERE creator_id = 'growth:{owner}';
        INSERT INTO store.search_progress (slot, conversation_id, indexed_seq)
            SELECT slot, id, last_seq FROM store.conversations WHERE creator_id = 'growth:{owner}'
        """,
    )
    floors.psql(system, "VACUUM ANALYZE store.messages")
    floors.psql(system, "CHECKPOINT")


def sessions(count: int, seconds: int) -> dict:
    """So many idle sessions beside a thousand messages a second."""

    def run(system: System) -> dict:
        if not count:
            return load(system, seconds, "pairs", "--rate", 1000)
        # Two sessions a pair, and next to no messages; longer than all the rest takes, and ended when that is done.
        quiet = ["pairs", "--pairs", str(count // 2), "--rate", "1", "--connections", "1", "--duration", "3600s"]
        idle = subprocess.Popen(
            [EXECUTABLES / "parley", "load", *quiet],
            env=system.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_sessions(system, count, idle)
            return load(system, seconds, "pairs", "--rate", 1000)
        finally:
            idle.kill()
            idle.wait()

    return on_new_system(run, instances=max(1, math.ceil(count / SESSIONS_PER_INSTANCE)))


def wait_for_sessions(system: System, count: int, idle: subprocess.Popen):
    """Until fanout's metrics tell that all are there."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and idle.poll() is None:
        if sum(session_count(system, number) for number in range(system.instances)) >= count:
            return
        time.sleep(0.5)
    raise SystemExit(f"{count} sessions did not come about: too few open files, or ports?")


def session_count(system: System, number: int) -> int:
    lines = subprocess.run(
        ["curl", "-sS", f"{system.address('fanout', number)}/metrics"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if line.startswith("parley_fanout_sessions")))


def instances(count: int, seconds: int) -> dict:
    """So many processes of every service."""
    options = ["pairs", "--pairs", 100, "--in-flight", 10]
    return on_new_system(lambda system: load(system, seconds, *options), instances=count)


GROWTHS = {
    "members": Growth(
        "members of a room, all online",
        [3, 10, 50, 100, 500, 1000, 2000, 5000, 10_000],
        [3, 20],
        members,
        ("deliveriesPerSecond", "deliveries/s"),
    ),
    "conversations": Growth(
        "conversations, 1,000 messages in flight",
        [1, 10, 100, 1000, 10_000, 100_000],
        [1, 20],
        conversations,
        ("acknowledgedPerSecond", "messages/s"),
    ),
    "history": Growth(
        "messages stored before",
        [0, 10_000, 100_000, 1_000_000, 3_000_000, 10_000_000],
        [0, 20_000],
        history,
        ("acknowledgedPerSecond", "messages/s"),
    ),
    "sessions": Growth(
        "idle sessions beside 1,000 messages/s",
        [0, 100, 1000, 10_000, 20_000, 50_000],
        [0, 200],
        sessions,
        ("acknowledgedPerSecond", "messages/s"),
    ),
    "instances": Growth(
        "processes of each service",
        [1, 2, 3, 4],
        [1, 2],
        instances,
        ("acknowledgedPerSecond", "messages/s"),
    ),
}


def draw(name: str, points: list[dict], directory: Path):
    growth = GROWTHS[name]
    plot = Plot(
        title=f"Parley: {growth.title}",
        subtitle=f"{os.cpu_count()} cores with PostgreSQL and the load generator; medians",
        xs=[each["x"] for each in points],
        left=[Series(growth.rate[1], [each["rate"] for each in points], "#1f6feb")],
        right=[
            Series("p50 ms", [each["p50"] for each in points], "#2da44e"),
            Series("p99 ms", [each["p99"] for each in points], "#cf222e"),
        ],
    )
    (directory / f"growth-{name}.svg").write_text(plot.svg())


if __name__ == "__main__":
    sys.exit(main())
