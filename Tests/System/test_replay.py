"""Real conversations through the public API: `parley replay` reads every history back and compares."""

import itertools
import os
from pathlib import Path

import pytest

from system import EXECUTABLES, REPOSITORY

DATA = Path(os.environ.get("PARLEY_DATA", REPOSITORY.parent / "shared" / "data")) / "ubuntu-irc.jsonl"
CONVERSATIONS = 4


@pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} is not here")
def test_a_replay_of_real_conversations_has_no_mismatches(system, tmp_path):
    part = tmp_path / "part.jsonl"
    with DATA.open() as lines, part.open("w") as copy:
        copy.writelines(itertools.islice(lines, CONVERSATIONS))
    done = system.run(EXECUTABLES / "parley", "replay", part)
    print(done.stdout)
    assert done.returncode == 0, done.stdout
    assert "mismatches" in done.stdout
