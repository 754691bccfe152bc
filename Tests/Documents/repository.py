"""What the tests of the documents share: the files of the repository and what stands in them."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
EXECUTABLES = Path(os.environ.get("PARLEY_EXECUTABLES", REPOSITORY / ".build" / "release")).resolve()
FENCE = re.compile(r"^( *)```(.*)\n((?:.*\n)*?)\1```$", re.MULTILINE)


@cache
def files() -> list[str]:
    """What git knows or would add, as paths from the root of the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted(name for name in listed if (REPOSITORY / name).exists())


@cache
def folders() -> set[str]:
    return {str(parent) for name in files() for parent in Path(name).parents}


def documents() -> list[str]:
    return [name for name in files() if name.endswith(".md")]


@cache
def text(name: str) -> str:
    return (REPOSITORY / name).read_text()


@cache
def prose(name: str) -> str:
    """The document without its fenced blocks, line for line."""
    return FENCE.sub(lambda match: "\n" * match[0].count("\n"), text(name))


class Block(NamedTuple):
    document: str
    line: int
    language: str
    content: str

    @property
    def place(self) -> str:
        return f"{self.document}:{self.line}"


def blocks(name: str) -> list[Block]:
    whole = text(name)
    return [
        Block(name, whole.count("\n", 0, match.start()) + 1, match[2].strip(), match[3])
        for match in FENCE.finditer(whole)
    ]
