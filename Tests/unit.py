#!/usr/bin/env python3
"""Runs the unit tests in several processes at once: each has its own reactor and its own PostgreSQL.

A process is given one of the suites that take long, or a test target without those. What it says is shown where a test
failed. The tests that ran are counted against those that the build lists, so that none is left out unnoticed.

    Tests/unit.py                              every test of a debug build, after `swift build --build-tests`
    Tests/unit.py --quick                      without what takes longest: the simulations by seed
    Tests/unit.py --filter 'StoreTests|Bus'    those whose name, target.suite/function, has this in it
    Tests/unit.py --times 20                   again and again, until a test fails
    Tests/unit.py --reruns 3                   up to three processes with a failure are repeated, once and alone
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

# What takes long, by how long it takes beside the others: it has a process to itself, and the longest begins first. A
# number that is no longer right costs balance, nothing else.
LONG = {
    "ParleyKitTests.SynchronizationTests/furtherFaults": 125,
    "ParleyKitTests.SynchronizationTests/faults": 122,
    "SimulationTests.SimulationTests/faults": 98,
    "StoreTests.UnreadTests/": 78,
    "StoreTests.SearchTests/": 45,
    "SimulationTests.ModelTests/": 39,
    "StoreTests.ImportReceiptsTests/": 35,
    "StoreTests.ConvergenceTests/": 33,
    "FanoutTests.SessionTests/": 32,
    "StoreTests.ErasureTests/": 32,
    "StoreTests.RepeatedRequestTests/": 31,
    "FanoutTests.FaultyBusTests/": 21,
    "ReceiptTests.ReceiptScheduleTests/": 20,
    "FanoutTests.CrowdTests/": 18,
    "StoreTests.AttachmentTests/": 18,
    "StoreTests.GrowthTests/": 18,
    "StoreTests.ManyWritersTests/": 16,
    "ReceiptTests.ReceiptModelTests/": 10,
    "ParleyKitTests.SynchronizationTests/flaws": 10,
    "SimulationTests.SimulationTests/mutations": 8,
    # Targets, for what is left of them: behind their suites, as the first name that fits is taken.
    "StoreTests": 314,
    "FanoutTests": 53,
    "PostgresTests": 35,
    "ParleyKitTests": 31,
    "EdgeTests": 26,
    "BusTests": 22,
    "ReceiptTests": 21,
    "IngestTests": 20,
    "SlotsTests": 18,
}
QUICK_LEAVES_OUT = (
    "SimulationTests.SimulationTests/faults",
    "FanoutTests.FaultyBusTests/",
    "ParleyKitTests.SynchronizationTests/faults",
    "ParleyKitTests.SynchronizationTests/furtherFaults",
    "ParleyKitTests.SynchronizationTests/flaws",
)

# A process that says nothing for so long hangs. The longest test takes some minutes on a slow machine.
SILENCE_SECONDS = 1800
LINES_OF_A_CRASH = 60

# As Swift Testing puts it.
CLOSING = re.compile(r"^[✔✘] Test run with (\d+) tests?.* (passed|failed) after")
STARTED = re.compile(r'^◇ Test ("?(?!run|case).+?) started\.$')
ENDED = re.compile(r'^[✔✘] Test ("?(?!run|case).+?)(?: with \d+ test cases?)? (passed|failed) after')
# Begins what is worth showing, and what is not; both may go on over several lines.
TELLING = re.compile(r"^✘ Test (?!run)|^↳ (?!Testing Library|Target Platform)|^simulation:")
OTHER = re.compile(r"^[◇✔✘↳]")


@dataclass
class Share:
    """The tests of one process."""

    name: str
    tests: list[str]

    @property
    def seconds(self) -> float:
        return LONG.get(self.name, len(self.tests) / 4)

    @property
    def pattern(self) -> str:
        return f"^({'|'.join(re.escape(test) for test in self.tests)})"


@dataclass
class Result:
    """What became of a share: how many of its tests ended, and the lines that are worth showing."""

    share: Share
    seconds: float
    count: int
    failed: int
    report: list[str]


def main() -> int:
    options = arguments()
    tests = listed(options)
    for number in range(1, options.times + 1):
        if options.times > 1:
            print(f"run {number} of {options.times}")
        if not run(options, tests):
            return 1
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=REPOSITORY / ".build/debug", help="where the tests were built")
    parser.add_argument("--filter", default="", help="a pattern for the names of tests")
    parser.add_argument("--quick", action="store_true", help="leave out what takes longest")
    # About half of the time a test waits.
    parser.add_argument("--processes", type=int, default=2 * len(os.sched_getaffinity(0)), help="how many at once")
    parser.add_argument("--times", type=int, default=1, help="how often")
    parser.add_argument("--reruns", type=int, default=0, help="how many processes may be repeated after a failure")
    return parser.parse_args()


def command(options: argparse.Namespace, *further: str) -> list[str]:
    return [str(options.build / "parleyPackageTests.xctest"), "--testing-library", "swift-testing", *further]


def listed(options: argparse.Namespace) -> list[str]:
    done = subprocess.run(command(options, "--list-tests"), capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"the tests cannot be listed:\n{done.stdout}{done.stderr}")
    tests = [line for line in done.stdout.splitlines() if re.match(r"\w+Tests\.", line)]
    if options.quick:
        tests = [test for test in tests if not test.startswith(QUICK_LEAVES_OUT)]
    return [test for test in tests if re.search(options.filter, test)] or sys.exit("no test has such a name")


def shares(tests: list[str]) -> list[Share]:
    """The longest first."""
    divided: dict[str, list[str]] = {}
    for test in tests:
        name = next((long for long in LONG if test.startswith(long)), test.split(".")[0])
        divided.setdefault(name, []).append(test)
    return sorted((Share(name, tests) for name, tests in divided.items()), key=lambda share: -share.seconds)


def run(options: argparse.Namespace, tests: list[str]) -> bool:
    start = time.monotonic()
    results = []
    with ThreadPoolExecutor(options.processes) as workers:
        for done in as_completed([workers.submit(carry_out, options, share) for share in shares(tests)]):
            results.append(done.result())
            show(results[-1])
    results = repeated(options, results)
    count, failed = sum(result.count for result in results), sum(result.failed for result in results)
    if count != len(tests) and not failed:
        print(f"✘ Test of completeness failed after 0 seconds: {len(tests)} tests are listed, {count} ran")
        failed = 1
    mark, outcome = ("✘", f"failed, {failed} of them,") if failed else ("✔", "passed")
    seconds = time.monotonic() - start
    print(f"{mark} Test run with {count} tests in {len(results)} processes {outcome} after {seconds:.0f} seconds")
    return not failed


def repeated(options: argparse.Namespace, results: list[Result]) -> list[Result]:
    """With those that failed run once more, if they are few. What passes only then is named: each is a defect."""
    if not 0 < sum(result.failed > 0 for result in results) <= options.reruns:
        return results
    final = []
    for result in results:
        if result.failed:
            result = carry_out(options, result.share)
            show(result)
            if not result.failed:
                print(f"PASSED {result.share.name.rstrip('/')}, which had failed")
        final.append(result)
    return final


def show(result: Result) -> None:
    for line in result.report:
        print(line)
    mark = "✘" if result.failed else "✔"
    print(f"{mark} {result.share.name.rstrip('/')}: {result.count} tests, {result.seconds:.0f} s", flush=True)


def carry_out(options: argparse.Namespace, share: Share) -> Result:
    start = time.monotonic()
    # A seed of the simulation stands for one run only where sets have the same order each time.
    environment = os.environ | {"NO_COLOR": "1", "SWIFT_DETERMINISTIC_HASHING": "1"}
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            command(options, "--no-parallel", "--filter", share.pattern), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, env=environment)  # fmt: skip
        end = wait(process, output.fileno())
        output.seek(0)
        return result(share, end, output.read().splitlines(), time.monotonic() - start)


def wait(process: subprocess.Popen, output: int) -> str:
    """How the process ended."""
    size, heard = 0, time.monotonic()
    while True:
        try:
            return f"its process ended with status {process.wait(timeout=0.2)}"
        except subprocess.TimeoutExpired:
            written = os.fstat(output).st_size
        if written > size:
            size, heard = written, time.monotonic()
        elif time.monotonic() - heard > SILENCE_SECONDS:
            process.kill()
            process.wait()
            return f"its process said nothing for {SILENCE_SECONDS} s and was ended"


def result(share: Share, end: str, lines: list[str], seconds: float) -> Result:
    closing = next((found for line in reversed(lines) if (found := CLOSING.match(line))), None)
    if closing and closing[2] == "passed" and end.endswith(" 0"):
        return Result(share, seconds, int(closing[1]), 0, [line for line in lines if line.startswith("simulation:")])
    report = told(lines)
    ended = [found for line in lines if (found := ENDED.match(line))]
    failed = sum(found[2] == "failed" for found in ended)
    if not closing:  # It died, or hung, in the middle of a test.
        under_way = {found[1] for line in lines if (found := STARTED.match(line))} - {found[1] for found in ended}
        report += [f"✘ Test {title} failed after {seconds:.0f} seconds: {end}" for title in under_way or {share.name}]
        report[:0] = lines[-LINES_OF_A_CRASH:]
        failed += len(under_way) or 1
    return Result(share, seconds, int(closing[1]) if closing else len(ended), max(failed, 1), report)


def told(lines: list[str]) -> list[str]:
    report, is_telling = [], False
    for line in lines:
        if TELLING.match(line):
            is_telling = True
        elif OTHER.match(line):
            is_telling = False
        if is_telling:
            report.append(line)
    return report


if __name__ == "__main__":
    sys.exit(main())
