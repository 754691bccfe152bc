#!/usr/bin/env python3
"""Measures a system of its own and prints one summary: every result beside the floor of this machine that bounds it.

First what people do all day, in a system of its own, with what is put off: see day.py. Then one kind of load after the
other, in bursts; what they put off is not counted.

Floors are what the parts can do without Parley: PostgreSQL with the very statement that stores messages (pgbench), one
request and answer over the edge (wrk, GET /healthz), the bus alone (BusLoad). A result's share of its floor says how
much of the machine is left; shares compare between machines, absolute numbers do not. Results stand beside what they
should be on 2 cores, where something was decided.

    Tests/Load/bench.py [--runs N] [--seconds N] [--only NAME…] [--json FILE]

Medians of the runs. A run that lost, doubled or disordered anything ends the bench with status 1.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import day  # noqa: E402
import floors  # noqa: E402
import startup  # noqa: E402
from system import EXECUTABLES, SERVICES, System  # noqa: E402
from unlimited import UnlimitedSystem  # noqa: E402

PROCESSES = (*SERVICES, "postgres")

# name: the options of `parley load`, which floor bounds it, and which figures are shown, the first being its result.
SCENARIOS = {
    # First: what the others write in seconds is brought into the index of the search, and onto the disk, for minutes.
    "1,000 a second": (["pairs", "--pairs", "100", "--rate", "1000"], None, ["acknowledgedPerSecond"]),
    "history": (["history"], "requests", ["pagesPerSecond"]),
    "pairs, pipelined": (["pairs", "--pairs", "100", "--in-flight", "10"], "rows", ["acknowledgedPerSecond"]),
    "pairs, one in flight": (["pairs", "--pairs", "1000", "--no-pipelining"], "rows", ["acknowledgedPerSecond"]),
    "room of 100": (["room", "--members", "100", "--in-flight", "10"], "frames", ["deliveriesPerSecond"]),
    "room of 500": (["room", "--members", "500", "--in-flight", "10"], "frames", ["deliveriesPerSecond"]),
    "room of 5,000": (["room", "--members", "5000", "--in-flight", "2"], "frames", ["deliveriesPerSecond"]),
    # 3,000 readers who go on when they were told; what is absorbed without waiting for that is `absorbed_receipts`.
    "receipts": (
        ["receipts", "--pairs", "3000", "--rate", "1000", "--backlog", "60"],
        None,
        ["storedReceiptsPerSecond"],
    ),
    "idle": (
        ["idle", "--clients", "10000"],
        "requests",
        ["healthzPerSecond", "healthzPerSecondAlone", "bytesPerConnection"],
    ),
    "reconnect": (["reconnect", "--clients", "10000"], None, ["clientsPerSecond", "resumedSeconds", "reloads"]),
}

# What is wanted on 2 cores, by the key of a figure: at least so much, or at most. `latency.…` is of one that is named
# in the report; `cpu` is CPU seconds per 1,000 of all processes but the generator.
AT_LEAST = {
    ("pairs, pipelined", "acknowledgedPerSecond"): 60_000,
    ("pairs, one in flight", "acknowledgedPerSecond"): 25_000,
    ("room of 100", "deliveriesPerSecond"): 600_000,
    ("room of 500", "deliveriesPerSecond"): 1_000_000,
    ("history", "pagesPerSecond"): 8_000,
}
AT_MOST = {
    ("pairs, pipelined", "cpu"): 0.025,
    ("pairs, pipelined", "walBytesPerMessage"): 700,
    ("1,000 a second", "latency.sendToReceive.p50"): 0.7,
    ("1,000 a second", "latency.sendToReceive.p99"): 3,
    ("1,000 a second", "latency.sendToReceive.p999"): 10,
    ("room of 100", "latency.fanoutLag.max"): 250,
    ("room of 500", "latency.fanoutLag.max"): 250,
    ("idle", "bytesPerConnection"): 4,
    ("reconnect", "resumedSeconds"): 10,
    ("reconnect", "reloads"): 0,
}
ABSORBED_RECEIPTS = 40_000
START_MILLISECONDS = 50
RESIDENT_MEGABYTES = 40

DAY_SECONDS = 120
LOG_SEGMENTS = 60  # of 16 MB


def main() -> int:
    options = arguments()
    day_options = day.arguments(["--seconds", str(DAY_SECONDS)])
    days = [] if options.only else [day.measure(EXECUTABLES, day_options)]
    system = UnlimitedSystem()
    system.up()
    try:
        fill_log(system)
        starts = {} if options.only else startup.measure(system, options.runs)
        measured = {name: runs(system, name, options) for name in options.only or SCENARIOS}
        receipts = None if options.only else absorbed_receipts(system, options)
        bounds = floors.measure(system, options.seconds)
    finally:
        system.remove()
    results = [summary(name, reports, bounds) for name, reports in measured.items()]
    if days:
        day.print_day(days, day_options)
    print_table(bounds, results)
    print_targets(results, receipts, starts)
    if options.json:
        numbers = {
            "day": days,
            "floors": bounds,
            "results": results,
            "absorbedReceiptsPerSecond": receipts,
            "starts": starts,
        }
        Path(options.json).write_text(json.dumps(numbers, indent=2) + "\n")
    return 1 if any(result["mismatches"] for result in [*days, *results]) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="of each scenario (default 3)")
    parser.add_argument("--seconds", type=int, default=5, help="of each run and floor (default 5)")
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="this scenario; may be repeated")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    return parser.parse_args()


def fill_log(system: System):
    """Gives the log its segments. On a new server who commits waits for the next one every 16 MB; one that has run for
    a while writes into those it has."""
    floors.psql(system, "ALTER SYSTEM SET min_wal_size = '1GB'")
    floors.psql(system, "SELECT pg_reload_conf()")
    # A switch right behind a switch does nothing: something has to be in the segment.
    use = "PERFORM pg_logical_emit_message(false, 'parley', 'bench'); PERFORM pg_switch_wal();"
    floors.psql(system, f"DO $$ BEGIN FOR n IN 1..{LOG_SEGMENTS} LOOP {use} END LOOP; END $$")
    floors.psql(system, "CHECKPOINT")


def absorbed_receipts(system: System, options: argparse.Namespace) -> float:
    """Readings stored a second: 10,000 readers in groups of 10, nobody writes."""
    database = f"host={floors.socket_directory(system)} port=5432 dbname=parley user=postgres"
    command = [EXECUTABLES / "SignalLoad", system.state / "run", "1000", "10", "4000", str(options.seconds), "100", "0"]
    measured = []
    for _ in range(options.runs):
        report = system.run(*command, PARLEY_DATABASE_URL=database).stdout
        print(f"\n── receipts alone\n{report}", file=sys.stderr)
        measured.append(int(re.search(r"absorbed +(\d+) signals/s", report)[1]))
    return median(measured)


def runs(system: System, name: str, options: argparse.Namespace) -> list[dict]:
    return [run(system, name, options.seconds) for _ in range(options.runs)]


def run(system: System, name: str, seconds: int) -> dict:
    """One run of a scenario. What it found wrong is told at once, and counted in the summary."""
    with tempfile.NamedTemporaryFile() as report:
        wal = floors.wal_position(system)
        command = [EXECUTABLES / "parley", "load", *SCENARIOS[name][0], "--duration", f"{seconds}s", "--warmup", "1s"]
        # Reading back everything is for tests; here it would take longer than the run.
        done = system.run(*command, "--check", "20", "--json", report.name)
        print(f"\n── {name}\n{done.stdout}", file=sys.stderr)
        text = Path(report.name).read_text()
        if not text:
            raise SystemExit(f"{name}: the run ended with status {done.returncode} and no report")
        return json.loads(text) | {"walBytes": floors.wal_position(system) - wal}


def summary(name: str, reports: list[dict], bounds: dict) -> dict:
    """The medians of the runs."""
    options, floor, figures = SCENARIOS[name]
    values = {figure: median(report.get(figure, 0) for report in reports) for figure in figures}
    latencies = {
        key: {point: median(report["latencyMilliseconds"][key][point] for report in reports) for point in points}
        for key, points in reports[0]["latencyMilliseconds"].items()
        if all(key in report["latencyMilliseconds"] for report in reports)
    }
    return {
        "name": name,
        "command": " ".join(["parley load", *options]),
        "figures": values,
        "floor": floor,
        "share": values[figures[0]] / bounds[floor] if floor and bounds.get(floor) else None,
        "cpuSecondsPer1000": median(cpu_per_1000(report) for report in reports),
        "generatorCPUSecondsPer1000": median(cpu_per_1000(report, ("generator",)) for report in reports),
        "latencyMilliseconds": latencies,
        "walBytesPerMessage": median(report["walBytes"] / report["messages"] for report in reports)
        if "messages" in reports[0]
        else None,
        "mismatches": sum(report["mismatches"] for report in reports),
    }


def cpu_per_1000(report: dict, names: tuple[str, ...] = PROCESSES) -> float:
    return sum(each["cpuSecondsPer1000"] for each in report["processes"] if each["name"].startswith(names))


def median(values) -> float:
    return statistics.median(list(values))


def print_table(bounds: dict, results: list[dict]):
    print(f"\nThis machine: {os.cpu_count()} cores")
    for key, title in floors.TITLES.items():
        print(f"  {title:<52}{number(bounds.get(key)):>14}")
    points = "".join(milliseconds(bounds["latencyMilliseconds"][point]) for point in ("p50", "p99", "p999"))
    print(f"  {'pgbench: that, 1,000 a second: p50, p99, p99.9 ms':<39}{points}")
    print(f"\n{'':24}{'result':>30}{'of floor':>10}{'CPU s/1,000':>13}{'p50 ms':>9}{'p99 ms':>9}{'p99.9':>9}")
    for result in results:
        main_figure, *others = result["figures"].items()
        share = f"{result['share']:.0%}" if result["share"] is not None else "-"
        latencies = result["latencyMilliseconds"]
        latency = latencies.get("sendToReceive") or next(iter(latencies.values()), {})
        points = "".join(milliseconds(latency.get(point)) for point in ("p50", "p99", "p999"))
        print(f"{result['name']:<24}{figure(*main_figure):>30}{share:>10}{result['cpuSecondsPer1000']:>13.4f}{points}")
        for other in others:
            print(f"{'':24}{figure(*other):>30}")
    for result in results:
        if result["walBytesPerMessage"] is not None:
            print(f"WAL of {result['name']}: {result['walBytesPerMessage']:,.0f} bytes a message")
    wrong = sum(result["mismatches"] for result in results)
    print(f"\nmismatches: {wrong}")


def print_targets(results: list[dict], receipts: float | None, starts: dict[str, dict]):
    """Every figure for which something is wanted, with that."""
    print(f"\n{'':24}{'':34}{'result':>14}{'wanted':>16}")
    for result in results:
        for limits, is_enough, sign in ((AT_LEAST, float.__ge__, "≥"), (AT_MOST, float.__le__, "≤")):
            for (name, key), limit in limits.items():
                if name == result["name"]:
                    value = float(wanted_figure(result, key))
                    print_target(name, key, value, f"{sign} {number(limit)}", is_enough(value, float(limit)))
    if receipts is not None:
        is_enough = receipts >= ABSORBED_RECEIPTS
        print_target("receipts alone", "absorbedPerSecond", receipts, f"≥ {number(ABSORBED_RECEIPTS)}", is_enough)
    for service, start in starts.items():
        for key, limit in (("startMilliseconds", START_MILLISECONDS), ("residentMegabytes", RESIDENT_MEGABYTES)):
            print_target(service, key, start[key], f"< {limit}", start[key] < limit)
        print(f"{'':24}{'readyMilliseconds':<34}{number(start['readyMilliseconds']):>14}")


def print_target(name: str, key: str, value: float, limit: str, is_met: bool):
    print(f"{name:<24}{key:<34}{number(value):>14}{limit:>16}{'' if is_met else '  missed'}")


def wanted_figure(result: dict, key: str) -> float:
    if key == "cpu":
        return result["cpuSecondsPer1000"]
    if key.startswith("latency."):
        _, name, share = key.split(".")
        return result["latencyMilliseconds"][name][share]
    return result["figures"].get(key, result.get(key))


UNITS = {
    "acknowledgedPerSecond": "messages/s",
    "deliveriesPerSecond": "deliveries/s",
    "storedReceiptsPerSecond": "receipts/s",
    "pagesPerSecond": "pages/s",
    "healthzPerSecond": "requests/s",
    "healthzPerSecondAlone": "requests/s alone",
    "bytesPerConnection": "KiB each",
    "clientsPerSecond": "clients/s",
    "resumedSeconds": "s until all resumed",
    "reloads": "reloads",
}


def figure(key: str, value: float) -> str:
    return f"{value:,.2f} {UNITS[key]}" if value < 100 else f"{value:,.0f} {UNITS[key]}"


def milliseconds(value) -> str:
    return f"{'-':>9}" if value is None else f"{value:>9.2f}"


def number(value) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"


if __name__ == "__main__":
    sys.exit(main())
