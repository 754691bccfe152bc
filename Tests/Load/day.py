#!/usr/bin/env python3
"""Measures what people do all day, in steady state: what a thing costs, by kind, by process and by statement, together
with what is put off.

The load is `parley load day`: writing, editing, deleting, reacting, reading, scrolling, listing, coming back. There is
a checkpoint every minute, and autovacuum looks every ten seconds, so both happen within the run. After the load it
waits until the search index has everything, vacuums and makes a checkpoint: that CPU was put off, and counts.

    Tests/Load/day.py [--rate N] [--seconds N] [--users N] [--kinds] [--sustained] [--statements]
                      [--against DIRECTORY…] [--runs N] [--json FILE]

`--against` takes the executables of other builds: each run is made with every build, in turn, each in a system of its
own with the load generator of this build. A run that lost, doubled or disordered anything ends with status 1.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import floors  # noqa: E402
from system import EXECUTABLES, SERVICES, System  # noqa: E402
from unlimited import UnlimitedSystem  # noqa: E402

KINDS = ("write", "writeToGroup", "writeToRoom", "edit", "delete", "tapback", "scroll", "listConversations", "sync")
UNTIMED = {"typed": "type", "returns": "comeAndGo"}
PROCESSES = (*SERVICES, "postgres")
WARM_UP = 10  # seconds
CATCHING_UP = 900  # seconds, after which it is not waited for the index any more
STEADY = ("checkpoint_timeout = '60s'", "autovacuum_naptime = '10s'")
SUSTAINED = 0.95  # of the things that were due, done within the run, and
SUSTAINED_P99 = 1_000  # milliseconds


def main() -> int:
    options = arguments()
    builds = [EXECUTABLES, *options.against]
    measured: dict[Path, list[dict]] = {build: [] for build in builds}
    for _ in range(options.runs):
        for build in builds:
            measured[build].append(measure(build, options))
    for build, days in measured.items():
        print(f"\n{'This build' if build == EXECUTABLES else build}, {len(days)} runs, medians")
        print_day(days, options)
    if options.json:
        Path(options.json).write_text(json.dumps({str(build): days for build, days in measured.items()}, indent=2))
    return 1 if any(day["mismatches"] for days in measured.values() for day in days) else 0


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=500, help="things a second (default 500)")
    parser.add_argument("--seconds", type=int, default=120, help="of the run (default 120)")
    parser.add_argument("--users", type=int, default=500, help="how many people (default 500)")
    parser.add_argument("--kinds", action="store_true", help="what each kind of thing costs, in runs of their own")
    parser.add_argument("--sustained", action="store_true", help="how many things a second are kept up with")
    parser.add_argument("--statements", action="store_true", help="what each statement costs (pg_stat_statements)")
    parser.add_argument("--against", type=Path, action="append", default=[], metavar="DIRECTORY")
    parser.add_argument("--runs", type=int, default=1, help="of each build (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    return parser.parse_args(words)


class BuildSystem(UnlimitedSystem):
    """A system of the executables of a build."""

    def __init__(self, build: Path):
        self.build = build
        super().__init__()

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"PARLEY_EXECUTABLES": str(self.build)}


def measure(build: Path, options: argparse.Namespace) -> dict:
    system = BuildSystem(build)
    try:
        system.up()
        steady(system, options.statements)
        day = run(system, options.users, options.rate, options.seconds)
        day["statements"] = statements(system) if options.statements else []
        if options.kinds:
            day["kinds"] = kinds(system, options)
        if options.sustained:
            day["sustained"] = sustained(system, options)
        return day
    finally:
        system.remove()


def steady(system: System, watches_statements: bool):
    """What happens once in a quarter of an hour happens within a run."""
    for setting in STEADY:
        floors.psql(system, f"ALTER SYSTEM SET {setting}")
    if watches_statements:
        floors.psql(system, "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
    system.stop()
    system.up()
    if watches_statements:
        floors.psql(system, "CREATE EXTENSION pg_stat_statements")


def run(system: System, users: int, rate: int, seconds: int, only: str | None = None, settles: bool = True) -> dict:
    """One load, and what was put off until after it."""
    with tempfile.NamedTemporaryFile() as file:
        command = [EXECUTABLES / "parley-load", "day", "--users", str(users), "--rate", str(rate)]
        command += ["--only", only] if only else []
        command += ["--duration", f"{seconds}s", "--warmup", f"{WARM_UP}s", "--check", "20", "--json", file.name]
        done = system.run(*command)
        print(f"\n── {rate} things a second{f', {only} and write' if only else ''}\n{done.stdout}", file=sys.stderr)
        report = json.loads(Path(file.name).read_text() or "{}")
        if not report:
            raise SystemExit(f"the run ended with status {done.returncode} and no report")
    loaded = cpu(system)
    lag = settle(system) if settles else 0
    counts = {kind: report["latencyMilliseconds"].get(kind, {}).get("count", 0) for kind in KINDS}
    counts |= {kind: report.get(figure, 0) for figure, kind in UNTIMED.items()}
    return report | {"counts": counts, "deferred": cpu(system) - loaded, "lag": lag}


def cpu(system: System) -> float:
    """CPU seconds of the services and of PostgreSQL, with all that PostgreSQL started."""
    processes = {pid: figures for pid, figures in ((pid, process(pid)) for pid in pids()) if figures}
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    postmaster = system.database_pid()
    members = {*system.pids().values(), postmaster, *children.get(postmaster, [])}
    total = sum(processes[pid][1] for pid in members if pid in processes)
    return total + processes[postmaster][2]


def pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def process(pid: int) -> tuple[int, float, float] | None:
    """Parent, own CPU seconds, and those of children that ended (proc(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    own, ended = (sum(map(int, fields[first : first + 2])) / os.sysconf("SC_CLK_TCK") for first in (11, 13))
    return int(fields[1]), own, ended


def settle(system: System) -> float:
    """Waits until nothing is put off any more. Returns the seconds that the index took."""
    begun = time.monotonic()
    while metric(system, "store", "parley_store_index_waiting") and time.monotonic() - begun < CATCHING_UP:
        time.sleep(0.5)
    seconds = time.monotonic() - begun
    floors.psql(system, "VACUUM")
    floors.psql(system, "CHECKPOINT")
    return seconds


def metric(system: System, service: str, name: str) -> float:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        system.address(service) + "/metrics", timeout=10
    ) as response:
        lines = response.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.partition("{")[0].partition(" ")[0] == name)


def statements(system: System) -> list[dict]:
    rows = floors.psql(
        system,
        """
        SELECT json_agg(s) FROM (
            SELECT calls, total_exec_time AS milliseconds, rows, shared_blks_hit + shared_blks_read AS blocks,
                wal_bytes, left(regexp_replace(query, '\\s+', ' ', 'g'), 90) AS text
            FROM pg_stat_statements WHERE query NOT LIKE 'CREATE %' ORDER BY total_exec_time DESC) s
        """,
    )
    return json.loads(rows or "[]")


def kinds(system: System, options: argparse.Namespace) -> dict[str, float]:
    """CPU milliseconds of one thing of each kind, what is put off included. Each is done beside as many messages to a
    chat, whose cost, measured alone, is taken off."""
    seconds = max(20, options.seconds // 4)
    plain = run(system, options.users, options.rate, seconds, "write")
    message = spent(plain) / plain["counts"]["write"]
    costs = {"write": message}
    for kind in (*KINDS[1:], *UNTIMED.values()):
        report = run(system, options.users, options.rate, seconds, kind)
        count, messages = report["counts"][kind], report["counts"]["write"]
        costs[kind] = (spent(report) - message * messages) / count if count else 0
    return {kind: 1_000 * cost for kind, cost in costs.items()}


def spent(report: dict) -> float:
    """CPU seconds of the window, of all but the generator, and what was put off."""
    return (
        sum(each["cpuSeconds"] for each in report["processes"] if each["name"].startswith(PROCESSES))
        + (report["deferred"])
    )


def things(report: dict) -> int:
    return sum(report["counts"].values())


def sustained(system: System, options: argparse.Namespace) -> dict:
    """The highest rate, in steps of a fifth, that is kept up with for half a minute."""
    rate, best = options.rate, {"rate": 0}
    while True:
        report = run(system, options.users, rate, 30, settles=False)
        p99 = max(each["p99"] for name, each in report["latencyMilliseconds"].items() if name in KINDS)
        done = things(report) / report["seconds"]
        if done < SUSTAINED * rate or p99 > SUSTAINED_P99:
            return best | {"firstMissed": rate}
        best = {"rate": rate, "p99": p99}
        rate = round(rate * 1.2)


def print_day(days: list[dict], options: argparse.Namespace):
    def median(of) -> float:
        return statistics.median([of(day) for day in days])

    count = median(things)
    print(
        f"\n{'thing':<22}{'count':>9}{'p50 ms':>9}{'p99 ms':>9}{'p99.9':>9}{'CPU ms each' if options.kinds else '':>13}"
    )
    for kind in (*KINDS, *UNTIMED.values()):
        times = [day["latencyMilliseconds"].get(kind, {}) for day in days]
        points = "".join(
            f"{statistics.median(values):>9.2f}" if (values := [each[point] for each in times if each]) else f"{'-':>9}"
            for point in ("p50", "p99", "p999")
        )
        cost = f"{median(lambda day, kind=kind: day['kinds'][kind]):>13.3f}" if options.kinds else ""
        print(f"{kind:<22}{median(lambda day, kind=kind: day['counts'][kind]):>9,.0f}{points}{cost}")
    print(f"\n{'process':<22}{'CPU ms a thing':>16}{'of all':>9}")
    whole = median(lambda day: spent(day) / things(day))
    shares = {name: median(lambda day, name=name: window(day, name) / things(day)) for name in PROCESSES}
    for name, cost in (shares | {"put off": median(lambda day: day["deferred"] / things(day))}).items():
        print(f"{name:<22}{1_000 * cost:>16.3f}{cost / whole:>9.0%}")
    print(f"{'all':<22}{1_000 * whole:>16.3f}")
    rate = count / median(lambda day: day["seconds"])
    lag = median(lambda day: day["lag"])
    mismatches = sum(day["mismatches"] for day in days)
    print(f"\n{rate:,.0f} things/s; the index was whole {lag:,.1f} s after the load; mismatches: {mismatches}")
    if options.sustained:
        rates = [day["sustained"] for day in days]
        rate, p99 = (statistics.median(each.get(key, 0) for each in rates) for key in ("rate", "p99"))
        print(f"sustained: {rate:,.0f} things/s, p99 of the slowest kind {p99:,.0f} ms")
    if options.statements:
        print_statements(days[-1])


def window(day: dict, name: str) -> float:
    return sum(each["cpuSeconds"] for each in day["processes"] if each["name"].startswith(name))


def print_statements(day: dict):
    """Of the last run, its preparation included."""
    total = sum(each["milliseconds"] for each in day["statements"])
    print(f"\n{'of all':>8}{'calls':>10}{'ms each':>10}{'rows':>8}{'blocks':>9}{'WAL':>9}  statement")
    for each in day["statements"][:25]:
        share = each["milliseconds"] / total
        time, rows, blocks, wal = (each[key] / each["calls"] for key in ("milliseconds", "rows", "blocks", "wal_bytes"))
        print(f"{share:>8.1%}{each['calls']:>10,}{time:>10.3f}{rows:>8.1f}{blocks:>9.1f}{wal:>9,.0f}  {each['text']}")


if __name__ == "__main__":
    sys.exit(main())
