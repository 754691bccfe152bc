"""The compose file, as the composes of this machine read it: 1.29 of Debian 12 and any later one."""

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
COMPOSES = [["docker", "compose"], ["docker-compose"]]


def works(command: list[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("command", [command for command in COMPOSES if works(command)] or [None], ids=str)
@pytest.mark.parametrize("profiles", [[], ["--profile", "observability"]], ids=str)
def test_compose_takes_the_file_without_a_warning(command, profiles):
    if command is None:
        pytest.skip("there is no compose here (deploy/bootstrap --tests)")
    done = subprocess.run([*command, *profiles, "config"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "ingest" in done.stdout
