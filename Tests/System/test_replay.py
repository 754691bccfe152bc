"""Real conversations through the public API: `parley replay` reads every history back and compares."""

import itertools
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from system import EXECUTABLES, REPOSITORY, System

DATA = Path(os.environ.get("PARLEY_DATA", REPOSITORY.parent / "shared" / "data")) / "ubuntu-irc.jsonl"
CONVERSATIONS = 4

pytestmark = pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} is not here")


@pytest.fixture
def part(tmp_path) -> Path:
    """The first conversations of the data."""
    part = tmp_path / "part.jsonl"
    with DATA.open() as lines, part.open("w") as copy:
        copy.writelines(itertools.islice(lines, CONVERSATIONS))
    return part


@pytest.mark.parametrize("order", [[], ["--ordered"]], ids=["64 in flight", "in the order of the file"])
def test_a_replay_has_no_mismatches(system: System, part: Path, tmp_path: Path, order: list[str]):
    report = replay(system, part, tmp_path, *order)
    assert report["acknowledged"] == report["messages"] == sum(len(each["messages"]) for each in conversations(part))
    assert report["deliveries"] > report["messages"]


def test_a_replay_repeated_under_its_name_makes_no_doubles(system: System, part: Path, tmp_path: Path):
    for _ in range(2):
        replay(system, part, tmp_path, "--run", "again", "--limit", "200")


@pytest.mark.kills
def test_a_replay_survives_the_death_of_one_process_after_another(double: System, part: Path, tmp_path: Path):
    """Under load, again and again, each coming back before the next dies: clients repeat and resume."""
    victims = [("store", 0), ("fanout", 1), ("ingest", 0), ("receipt", 1), ("store", 1), ("fanout", 0)]
    deaths = 0
    with ThreadPoolExecutor() as aside:
        replaying = aside.submit(replay, double, part, tmp_path, "--rate", "250")
        while time.sleep(1) or not replaying.done():
            double.kill(*victims[deaths % len(victims)])
            deaths += 1
            double.revive()
    report = replaying.result()
    assert report["acknowledged"] == report["messages"]
    # As many as a slow machine comes to; a store and a fanout at least.
    assert deaths > 1 and report["reconnections"] > 0


def replay(system: System, part: Path, directory: Path, *options: str) -> dict:
    """Plays the part through all instances and returns the report, in which nothing may differ."""
    done = system.run(
        EXECUTABLES / "parley",
        "replay",
        part,
        "--json",
        directory / "report.json",
        *options,
        "--http",
        ",".join(system.address("ingest", n) for n in range(system.instances)),
        "--ws",
        ",".join(system.address("fanout", n).replace("http", "ws") for n in range(system.instances)),
    )
    assert done.returncode == 0, done.stdout
    report = json.loads((directory / "report.json").read_text())
    assert report["mismatches"] == 0, done.stdout
    return report


def conversations(part: Path) -> list[dict]:
    return [json.loads(line) for line in part.read_text().splitlines()]
