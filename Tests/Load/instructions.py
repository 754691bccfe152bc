#!/usr/bin/env python3
"""Counts the instructions that the paths of every message take, and compares them with Tests/Load/instructions.json.

Nothing is timed, so a busy machine changes nothing: callgrind counts what HotPaths (Tests/Load/HotPaths) does for a
thousand messages, less what it does for a few. More than 8 % beyond the kept value fails; so does less, which is to be
kept as the new value: whoever makes a path dearer or cheaper says so in a commit.

    Tests/Load/instructions.py             compares
    Tests/Load/instructions.py --update    keeps what it counts; after `swift build -c release --product HotPaths`
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
EXECUTABLE = Path(os.environ.get("PARLEY_EXECUTABLES", REPOSITORY / ".build" / "release")) / "HotPaths"
KEPT = Path(__file__).with_suffix(".json")
TOLERANCE = 0.08
FEW, MANY = 100, 1100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="keep what is counted as the values to compare with")
    options = parser.parse_args()
    counted = {path: instructions(path) for path in paths()}
    if options.update:
        KEPT.write_text(json.dumps(counted, indent=2) + "\n")
    kept = json.loads(KEPT.read_text())
    wrong = [path for path in sorted(counted | kept) if not is_near(counted.get(path), kept.get(path))]
    for path in sorted(counted | kept):
        mark = "  <- differs" if path in wrong else ""
        print(f"{path:<16}{counted.get(path, 0):>8} instructions a message, {kept.get(path, 0):>8} kept{mark}")
    if wrong:
        print("If that is meant: Tests/Load/instructions.py --update")
    # As pytest closes, for the totals of Tests/run.
    print(f"{len(counted) - len(wrong)} passed" + (f", {len(wrong)} failed" if wrong else ""))
    return 1 if wrong else 0


def is_near(counted: int | None, kept: int | None) -> bool:
    return counted is not None and kept is not None and abs(counted - kept) <= TOLERANCE * kept


def paths() -> list[str]:
    return subprocess.run([EXECUTABLE], check=True, capture_output=True, text=True).stdout.split()


def instructions(path: str) -> int:
    return round((total(path, MANY) - total(path, FEW)) / (MANY - FEW))


def total(path: str, times: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", EXECUTABLE, path, str(times)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


if __name__ == "__main__":
    sys.exit(main())
