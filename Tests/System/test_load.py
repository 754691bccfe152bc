"""`parley load`: every scenario, small, against real processes; what it measures it also checks."""

import json
import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from system import EXECUTABLES, SERVICES, System

SHORT = ["--duration", "700ms", "--warmup", "200ms"]


@pytest.mark.parametrize(
    "options, positive",
    [
        (["pairs", "--pairs", "5", "--in-flight", "4"], ["acknowledgedPerSecond", "deliveriesPerSecond"]),
        (["pairs", "--pairs", "5", "--in-flight", "2", "--no-pipelining"], ["acknowledgedPerSecond"]),
        (["pairs", "--pairs", "20", "--rate", "100", "--online", "3", "--connections", "2"], ["deliveriesPerSecond"]),
        (["room", "--members", "30", "--senders", "4"], ["deliveriesPerSecond"]),
        (["idle", "--clients", "60"], ["healthzPerSecond", "healthzPerSecondAlone"]),
        (["reconnect", "--clients", "30", "--missed", "3"], ["resumedSeconds"]),
        (["history", "--conversations", "3", "--messages", "120", "--page", "30"], ["pagesPerSecond"]),
        (["receipts", "--pairs", "5", "--backlog", "5"], ["storedReceiptsPerSecond", "statusFramesPerSecond"]),
        (["day", "--users", "20", "--rate", "100"], ["actionsPerSecond", "deliveriesPerSecond"]),
    ],
    ids=lambda value: " ".join(value) if "--" in str(value) else "",
)
def test_a_scenario_loses_nothing(system: System, tmp_path: Path, options: list[str], positive: list[str]):
    report = load(system, tmp_path, *options)
    assert all(report[figure] > 0 for figure in positive), report
    names = {process["name"].split("-")[0] for process in report["processes"]}
    assert names == {*SERVICES, "postgres", "generator"}


def test_a_room_larger_than_a_request_may_name_is_filled(single: System, tmp_path: Path):
    report = load(single, tmp_path, "room", "--members", "1010", "--senders", "2")
    assert report["sessions"] == 1010 and report["deliveriesPerSecond"] > 0


def test_clients_that_missed_too_much_reload(single: System, tmp_path: Path):
    report = load(single, tmp_path, "reconnect", "--clients", "2", "--missed", "1100")
    assert report["reloads"] == 2


@pytest.mark.kills
def test_a_run_survives_the_death_of_processes(double: System, tmp_path: Path):
    with ThreadPoolExecutor() as aside:
        options = ["pairs", "--pairs", "10", "--rate", "100", "--duration", "5s"]
        running = aside.submit(load, double, tmp_path, *options)
        for victim in [("fanout", 0), ("ingest", 1), ("store", 0)]:
            time.sleep(1.5)
            double.kill(*victim)
            double.revive()
    report = running.result()
    assert report["reconnections"] > 0 and report["acknowledgedPerSecond"] > 0


def test_arguments_that_make_no_sense_are_refused(single: System):
    for options in (["parade"], ["pairs", "--members", "3"], ["pairs", "--rate", "fast"], []):
        done = single.run(EXECUTABLES / "parley", "load", *options)
        assert done.returncode == 2 and done.stdout.startswith("parley: "), done.stdout
    assert "--in-flight N" in single.run(EXECUTABLES / "parley", "load", "--help").stdout


def test_the_load_generator_stands_beside_the_command_line(tmp_path: Path):
    shutil.copy(EXECUTABLES / "parley", tmp_path)
    command = [tmp_path / "parley", "load", "--help"]
    environment = os.environ | {"PATH": str(tmp_path)}
    alone = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert alone.returncode == 2 and alone.stderr.startswith("parley: parley-load cannot be run: "), alone.stderr
    shutil.copy(EXECUTABLES / "parley-load", tmp_path)
    beside = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert beside.returncode == 0 and "Usage: parley load SCENARIO" in beside.stdout, beside.stderr


def load(system: System, directory: Path, *options: str) -> dict:
    """Runs a scenario against all instances and returns its report, in which nothing may be wrong."""
    file = directory / "report.json"
    done = system.run(EXECUTABLES / "parley", "load", *SHORT, *options, "--json", file)
    assert done.returncode == 0, done.stdout
    report = json.loads(file.read_text())
    assert report["mismatches"] == 0, done.stdout
    return report
