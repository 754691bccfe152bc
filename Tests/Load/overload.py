#!/usr/bin/env python3
"""What is left of the rate of acknowledged messages when twice as many come as can be stored.

    Tests/Load/overload.py [--seconds N] [--times FACTOR] [--json FILE]

On a system of its own: `parley load pairs` in a closed loop finds the rate that can be kept up, then in an open loop
as many times that much is due. Goodput is what is acknowledged a second; what is refused (429, 503) is repeated, as
clients do. Generator and services share the machine, so the generator's own work is part of the load. Ends with 1 when
anything was lost, doubled or out of order.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "System"))

from system import EXECUTABLES, System  # noqa: E402

PAIRS = ["pairs", "--pairs", "200", "--connections", "50"]


def main() -> int:
    options = arguments()
    system = System()
    system.up()
    try:
        most = run(system, options.seconds, "--in-flight", "10")
        rate = round(options.times * most["acknowledgedPerSecond"])
        overload = run(system, options.seconds, "--rate", str(rate))
    finally:
        system.remove()
    share = overload["acknowledgedPerSecond"] / most["acknowledgedPerSecond"]
    result = {
        "sustainable": most["acknowledgedPerSecond"],
        "offered": rate,
        "goodput": overload["acknowledgedPerSecond"],
        "share": share,
        "latencyMilliseconds": overload["latencyMilliseconds"],
        "mismatches": most["mismatches"] + overload["mismatches"],
    }
    print(
        f"{result['sustainable']:,.0f} messages/s can be kept up; of {rate:,} due a second "
        f"{result['goodput']:,.0f} were acknowledged: {share:.0%}. Mismatches: {result['mismatches']}"
    )
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2) + "\n")
    return 1 if result["mismatches"] else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10, help="of each of the two runs (default 10)")
    parser.add_argument("--times", type=float, default=2, help="the load, in sustainable ones (default 2)")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    return parser.parse_args()


def run(system: System, seconds: int, *options: str) -> dict:
    with tempfile.NamedTemporaryFile() as report:
        command = [EXECUTABLES / "parley", "load", *PAIRS, *options, "--duration", f"{seconds}s", "--warmup", "2s"]
        done = system.run(*command, "--check", "20", "--json", report.name)
        print(done.stdout, file=sys.stderr)
        text = Path(report.name).read_text()
        if not text:
            raise SystemExit(f"the run ended with status {done.returncode} and no report")
        return json.loads(text)


if __name__ == "__main__":
    sys.exit(main())
