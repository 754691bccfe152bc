"""PROMISES.md names tests for each promise: they exist under these names."""

import functools
import re
from pathlib import Path

import pytest
from faults.kinds import KINDS
from system import REPOSITORY

TESTS = REPOSITORY / "Tests"
NAMED = re.findall(r"`([^`]+(?:: |::)[^`]+)`", (TESTS / "System" / "PROMISES.md").read_text())


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str):
    if "::" in name:
        path, function = name.split("::")
        path = TESTS / path if "/" in path else TESTS / "System" / path
        assert re.search(rf"^(async )?def {function}\(", path.read_text(), re.MULTILINE)
        return
    where, title = name.split(": ", 1)
    assert title in (kinds() if where == "Fault" else titles(TESTS / where)), f"{name} is not there"


def kinds() -> set[str]:
    return {kind.name for kind in KINDS}


@functools.cache
def titles(directory: Path) -> set[str]:
    """Of all Swift tests in the directory."""
    sources = (path.read_text() for path in directory.rglob("*.swift"))
    return {title for source in sources for title in re.findall(r'@Test\(\s*"((?:[^"\\]|\\.)*)"', source)}


def test_every_promise_has_one():
    rows = [line for line in (TESTS / "System" / "PROMISES.md").read_text().splitlines() if line.startswith("| ")]
    assert len(rows) > 25 and len(NAMED) > 60
    assert all("`" in row for row in rows if not row.startswith("| promise"))
