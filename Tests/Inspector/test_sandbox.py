"""Behind the filter a process can compute and write on descriptor 1, and nothing else."""

import re
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from corpus import PICTURES, drawing, encoded
from inspecting import INSPECTOR, REPOSITORY, Server, inspect

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
        readers = {name: server.start(content) for name, content in contents.items()}
        reports = {name: server.finish(reader) for name, reader in readers.items()}
        for name, content in contents.items():
            assert reports[name].frames == inspect(content).frames
        assert server.inspect(b"\xff\xd8\xff\xe0 damaged").reason == "unreadable"
        assert server.inspect(contents["png"]).facts["verdict"] == "ready"
