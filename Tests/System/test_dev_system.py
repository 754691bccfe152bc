"""deploy/dev: what a person does with up, status and down, and what goes wrong around them."""

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from system import DEV, SERVICES, System, is_alive


@pytest.fixture
def fresh():
    """A system of this test alone, not started."""
    system = System()
    try:
        yield system
    finally:
        system.remove()


@pytest.mark.kills
def test_up_starts_what_is_not_running_and_leaves_the_rest(single):
    single.kill("store")
    single.kill("fanout")
    before = single.pids()

    assert single.run(DEV / "status").returncode == 1
    single.up()

    after = single.pids()
    assert {name for name in before if before[name] != after[name]} == {"store-0", "fanout-0"}
    assert single.run(DEV / "status").returncode == 0


def test_a_stale_pid_file_does_not_name_a_stranger(fresh):
    fresh.up()
    fresh.kill("receipt")
    with subprocess.Popen(["sleep", "60"]) as stranger:
        (fresh.state / "run" / "receipt-0.pid").write_text(f"{stranger.pid}\n")
        fresh.up()
        assert fresh.pid("receipt") != stranger.pid
        assert fresh.run(DEV / "down").returncode == 0
        assert stranger.poll() is None, "down ends what up started and nothing else"
        stranger.kill()


def test_everything_killed_at_once_comes_back_with_its_data(fresh):
    fresh.up()
    for service in SERVICES:
        fresh.kill(service)
    fresh.kill_database()
    fresh.up()
    assert fresh.run(DEV / "status").returncode == 0


def test_a_port_in_use_is_named(fresh):
    with socket.create_server(("127.0.0.1", fresh.http_port + 2)):
        done = fresh.run(DEV / "up")
    assert done.returncode == 1
    assert f"port {fresh.http_port + 2}" in done.stdout and "PARLEY_HTTP_PORT" in done.stdout


def test_an_interrupted_initialisation_is_begun_again(fresh):
    half = fresh.state / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("15\n")
    fresh.up()
    assert not half.exists()


def test_ctrl_c_in_the_foreground_stops_everything(fresh):
    with subprocess.Popen(
        [DEV / "run"],
        env=fresh.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        # As in a terminal: what a shell runs in the background ignores Ctrl-C, and so would this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as foreground:
        said = []
        for line in foreground.stdout:
            said.append(line)
            if line.startswith("Running"):
                break
        pids = [*fresh.pids().values(), fresh.database_pid()]
        curls = [line.strip() for line in said if line.startswith("curl ")]
        answers = [subprocess.run(["bash", "-c", curl + " --fail"], capture_output=True, text=True) for curl in curls]
        foreground.send_signal(signal.SIGINT)
        foreground.stdout.read()
    assert foreground.returncode == 130, "".join(said)
    assert [answer.returncode for answer in answers] == [0, 0, 0], answers
    assert '"Hello"' in answers[1].stdout
    assert not any(map(is_alive, pids))


def test_a_system_ends_with_the_process_that_holds_it():
    """Also when that process is killed: no run of these tests leaves processes behind."""
    script = """
import json, time, system
held = system.System()
held.up()
print(json.dumps([*held.pids().values(), held.database_pid()]), flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=Path(__file__).parent, text=True, stdout=subprocess.PIPE
    ) as holder:
        pids = json.loads(holder.stdout.readline())
        assert len(pids) == len(SERVICES) + 1 and all(map(is_alive, pids))
        holder.kill()
    deadline = time.monotonic() + 15
    while any(map(is_alive, pids)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
