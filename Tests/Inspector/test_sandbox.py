"""Behind the filter a process can compute and write on descriptor 1, and nothing else."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from corpus import PICTURES, drawing, encoded
from inspecting import INSPECTOR, PATIENCE, REPOSITORY, Server, inspect
from PIL import Image

[CASES] = re.findall(
    r"enum Attempt.*?\{\n(.*?)\n\n",
    (REPOSITORY / "Services/MediaInspector/Sandbox/Attempt.swift").read_text(),
    re.DOTALL,
)
ATTEMPTS = re.findall(r"case (\w+)", CASES)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_whoever_tries_more_is_killed(attempt):
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"content")
        file.seek(0)
        run = subprocess.run([INSPECTOR, "--attempt", attempt], stdin=file, capture_output=True, check=False)
    assert (run.returncode, run.stdout) == (-signal.SIGSYS, b"")
    assert not Path("/tmp/parley-attempt").exists()


def test_whoever_tries_nothing_lives():
    """So it is the attempts that kill, not the filter in itself."""
    assert len(ATTEMPTS) > 8
    assert inspect(b"").status == 0


def test_the_filter_is_closed_before_the_file_is_read():
    """No system call but the mapping of the file comes between, and no page of it is looked at before."""
    source = (REPOSITORY / "Services/MediaInspector/Inspector.swift").read_text()
    assert source.index("sandbox.close()") < source.index("FileType(file.bytes)")


def test_a_file_that_takes_too_much_memory_is_refused():
    content = encoded(drawing(4000, 4000), "PNG")
    assert inspect(content, "--memory", "16M").reason in ("unreadable", "tooLarge")
    assert inspect(content).reason is None


def test_what_is_no_regular_file_is_not_looked_into():
    run = subprocess.run([INSPECTOR], input=b"\xff\xd8\xff", capture_output=True, check=False)
    assert (run.returncode, run.stdout) == (2, b"")


def test_a_server_looks_into_many_files_at_once():
    contents = {name: make() for name, make in PICTURES.items()}
    with Server() as server:
        begun = {name: server.start(content) for name, content in contents.items()}
        reports = {name: each.report() for name, each in begun.items()}
        for name, content in contents.items():
            assert reports[name].frames == inspect(content).frames
        assert server.inspect(b"\xff\xd8\xff\xe0 damaged").reason == "unreadable"
        assert server.inspect(contents["png"]).facts["verdict"] == "ready"


def test_whoever_is_handed_a_process_can_end_it_and_no_other():
    with Server() as server:
        slow, other = server.start(noise()), server.start(noise())
        slow.kill()
        assert not slow.report().ended
        assert other.report().facts["verdict"] == "ready"


def test_what_takes_too_long_is_ended():
    with Server("--seconds", "1") as server:
        assert not server.start(noise(4_000)).report().ended
        assert server.inspect(encoded(drawing(), "PNG")).ended


def test_a_server_has_no_threads():
    """What another thread was in the middle of when a process is made stays so there for ever."""
    with Server() as server:
        assert server.inspect(encoded(drawing(), "PNG")).ended
        assert len(list(Path(f"/proc/{server.process.pid}/task").iterdir())) == 1


def test_who_asks_all_processes_to_end_ends_no_inspection():
    """As service managers do. The server's own does not end before whoever started it has."""
    with Server() as server:
        begun = server.start(noise())
        for process in [server.process.pid, *children(server.process.pid)]:
            os.kill(process, signal.SIGTERM)
        assert begun.report().facts["verdict"] == "ready"


def test_no_process_outlives_its_server():
    server = Server()
    begun = [server.start(noise()) for _ in range(3)]
    server.process.kill()
    server.process.wait(PATIENCE)
    assert [each.report().ended for each in begun] == [False] * 3
    server.socket.close()


def test_a_server_keeps_nothing_of_a_file():
    """Neither descriptors nor processes, whatever became of them."""
    with Server() as server:
        server.inspect(b"")
        descriptors = Path(f"/proc/{server.process.pid}/fd")
        before = len(list(descriptors.iterdir()))
        for number in range(20):
            begun = server.start(b"\xff\xd8\xff" if number % 2 else noise(100))
            if number % 3 == 0:
                begun.kill()
            begun.report()
        deadline = time.monotonic() + PATIENCE
        while children(server.process.pid) or len(list(descriptors.iterdir())) != before:
            assert time.monotonic() < deadline, "something is left"
            time.sleep(0.01)


def noise(side: int = 1_500) -> bytes:
    """What it takes a while to encode again."""
    return encoded(Image.frombytes("RGB", (side, side), os.urandom(side * side * 3)), "PNG", compress_level=0)


def children(process: int) -> list[int]:
    """The dead that nobody has waited for among them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(folder.name))
    return found
