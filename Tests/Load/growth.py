#!/usr/bin/env python3
"""How throughput and latency change as members, conversations, history, sessions or instances grow; a plot of each.

Each point is a run of `parley load`, which compares everything that it sent with what arrived; the points of a plot
share a system where they can. Numbers go into growth.json, plots into growth-<name>.svg, in Tests/Load/results;
--plot-only draws again from the numbers. A point that fails or takes too long is told, left out of its plot, and ends
the script with status 1, as does one that lost, doubled or disordered anything; the others go on.

    Tests/Load/growth.py [--quick] [--runs N] [--seconds N] [--only NAME…] [--output DIRECTORY] [--plot-only]

The whole of it takes about a quarter of an hour on 2 quiet cores, and 10 GB of disk; with --runs 3, half an hour.
--quick, a few small points of two seconds each to see that it works, takes three minutes.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from growing import GROWTHS, Growth  # noqa: E402
from progress import Progress, time_limit  # noqa: E402
from svgplot import Plot, Series  # noqa: E402


def main() -> int:
    options = arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    file = options.output / "growth.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    names = options.only or list(GROWTHS)
    if not options.plot_only:
        progress = Progress(sum(expected(growth, options) for growth in (GROWTHS[name] for name in names)))
        for name in names:
            results[name] = measure(GROWTHS[name], options, progress)
            file.write_text(json.dumps(results, indent=2) + "\n")
            draw(GROWTHS[name], results[name], options.output)
    for name in names:
        if name in results:
            draw(GROWTHS[name], results[name], options.output)
    return conclusion({name: results[name] for name in names if name in results})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few small points")
    parser.add_argument("--runs", type=int, default=1, help="of each point; their medians count (default 1)")
    parser.add_argument("--seconds", type=int, help="of each run (default 5)")
    parser.add_argument("--only", action="append", choices=GROWTHS, help="this plot; may be repeated")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "Tests" / "Load" / "results")
    parser.add_argument("--plot-only", action="store_true", help="draw what was measured before")
    options = parser.parse_args()
    options.seconds = options.seconds or (2 if options.quick else 5)
    return options


def points(growth: type[Growth], options: argparse.Namespace) -> dict[int, int]:
    """Each with the seconds it takes, measured on 2 cores."""
    return dict.fromkeys(growth.quick, 12) if options.quick else growth.points


def expected(growth: type[Growth], options: argparse.Namespace) -> float:
    return sum(seconds + (options.runs - 1) * options.seconds for seconds in points(growth, options).values())


def measure(growth: type[Growth], options: argparse.Namespace, progress: Progress) -> list[dict]:
    """The points, each within a time, and the ones that failed with the reason."""
    measured = []
    growing = growth()
    try:
        for x, seconds in points(growth, options).items():
            progress.begin(f"{growth.name} {x:,}", seconds)
            try:
                with time_limit(120 + 3 * seconds):
                    reports = [growing.measure(x, options.seconds) for _ in range(options.runs)]
                measured.append(point(x, reports, growth.figure))
            except Exception as failure:  # noqa: BLE001 - whatever it was, the others go on
                measured.append({"x": x, "failed": f"{type(failure).__name__}: {failure}"})
                growing.end()
                growing = growth()
            measured[-1]["secondsTaken"] = round(progress.end(words(measured[-1])), 1)
    finally:
        growing.end()
    return measured


def point(x: int, reports: list[dict], figure: str) -> dict:
    def median(value) -> float:
        return round(statistics.median(map(value, reports)), 4)

    names = dict.fromkeys(each["name"].partition("-")[0] for each in reports[0]["processes"])
    return {
        "x": x,
        "rate": median(lambda report: report[figure]),
        "p50": median(lambda report: latency(report)["p50"]),
        "p99": median(lambda report: latency(report)["p99"]),
        # Of all processes of a kind together.
        "cpuSecondsPer1000": {
            name: median(lambda report, name=name: total(report, name, "cpuSecondsPer1000")) for name in names
        },
        "peakMegabytes": {
            name: round(max(total(report, name, "peakBytes") for report in reports) / 2**20) for name in names
        },
        "mismatches": sum(report["mismatches"] for report in reports),
        "samples": [sample for report in reports for sample in report["samples"]][:5],
    }


def latency(report: dict) -> dict:
    latencies = report["latencyMilliseconds"]
    return latencies.get("sendToReceive") or latencies["sendToAck"]


def total(report: dict, name: str, figure: str) -> float:
    return sum(each[figure] for each in report["processes"] if each["name"].partition("-")[0] == name)


def words(point: dict) -> str:
    if "failed" in point:
        return f"FAILED: {point['failed']}"
    text = f"{point['rate']:,.0f}/s, p50 {point['p50']:.2f} ms, p99 {point['p99']:.2f} ms"
    return text + (f", {point['mismatches']} MISMATCHES: {point['samples']}" if point["mismatches"] else "")


def conclusion(results: dict[str, list[dict]]) -> int:
    failed = [f"{name} {each['x']:,}" for name, points in results.items() for each in points if "failed" in each]
    wrong = sum(each.get("mismatches", 0) for points in results.values() for each in points)
    print(f"mismatches: {wrong}; failed: {', '.join(failed) or 'none'}")
    return 1 if wrong or failed else 0


def draw(growth: type[Growth], measured: list[dict], directory: Path):
    good = [each for each in measured if "failed" not in each]
    if not good:
        return
    plot = Plot(
        title=f"Parley: {growth.title}",
        notes=[f"{os.cpu_count()} cores for PostgreSQL, all services and the load generator; fsync on", *growth.notes],
        xs=[each["x"] for each in good],
        left=[Series(growth.unit, [each["rate"] for each in good], "#1f6feb")],
        right=[
            Series("p50 ms", [each["p50"] for each in good], "#2da44e"),
            Series("p99 ms", [each["p99"] for each in good], "#cf222e"),
        ],
    )
    (directory / f"growth-{growth.name}.svg").write_text(plot.svg())


if __name__ == "__main__":
    started = time.monotonic()
    status = main()
    print(f"{time.monotonic() - started:.0f} s")
    sys.exit(status)
