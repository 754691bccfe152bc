"""Checks `ownership.pml` with spin. `python3 Tests/Model/model.py MACRO[=VALUE]…` shows how a promise breaks."""

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

MODEL = Path(__file__).with_name("ownership.pml")
# Nothing but assertions is looked for, deadlocks included: `Calm` waits until nothing can happen any more.
COMPILE = ["gcc", "-O1", "-w", "-DSAFETY", "-DNOREDUCE", "-DVECTORSZ=1024", "-DMEMLIM=6000", "-o", "pan", "pan.c"]
# The most steps of a run, the bits of the hash table's size.
SEARCH = ["./pan", "-m100000", "-w22"]


@dataclass
class Search:
    states: int
    depth: int
    violated: str | None
    """The assertion that does not hold; nil: every state was seen, and all hold."""
    ended: bool
    """Whether a run reached the end, where what is promised in the end is compared."""
    steps: str = ""


def search(*macros: str, show_steps: bool = False) -> Search:
    """Looks at every state of the model with these macros, or at as many as it takes to find a violation."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(MODEL, directory)
        definitions = [f"-D{macro}" for macro in macros]
        run(["spin", "-a", *definitions, MODEL.name], directory)
        run(COMPILE, directory)
        output = run(SEARCH, directory)
        found = read(output)
        if found.violated and show_steps:
            found.steps = run(["spin", "-t", "-p", "-g", *definitions, MODEL.name], directory)
        return found


def run(command: list, directory: str) -> str:
    done = subprocess.run(
        command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stdout[-2000:]}")
    return done.stdout


def read(output: str) -> Search:
    violated = re.search(r"pan:1: (?:assertion violated )?(.*) \(at depth", output)
    if not violated and ("errors: 0" not in output or re.search("not completed|too small|out of memory", output)):
        raise RuntimeError(f"the search ended early: {output[-2000:]}")
    return Search(
        states=int(re.search(r"(\d+) states, stored", output)[1]),
        depth=int(re.search(r"depth reached (\d+)", output)[1]),
        violated=violated and violated[1],
        ended=bool(re.search(r"unreached in proctype Calm\n\s+\(0 of", output)),
    )


if __name__ == "__main__":
    result = search(*sys.argv[1:], show_steps=True)
    print(result.steps, end="")
    print(f"{result.states} states, depth {result.depth}: {result.violated or 'every promise is kept'}")
    sys.exit(bool(result.violated))
