"""Swift in the tutorial is a part of the example program, which is compiled: `<!-- snippet: NAME -->` precedes it."""

import re
import textwrap

import pytest
from repository import blocks, text

TUTORIAL = "docs/parleykit.md"
PROGRAM = "Clients/ParleyKit/Example/Main.swift"
SNIPPET = re.compile(r"^ *// snippet: (\w+)\n(.*?)^ *// end$", re.MULTILINE | re.DOTALL)
SNIPPETS = {name: textwrap.dedent(body) for name, body in SNIPPET.findall(text(PROGRAM))}
QUOTED = re.findall(r"<!-- snippet: (\w+) -->\n```swift\n(.*?)^```$", text(TUTORIAL), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("name", "block"), QUOTED, ids=[name for name, _ in QUOTED])
def test_a_block_is_what_the_program_has(name, block):
    assert block == SNIPPETS[name]


def test_every_block_of_swift_is_compiled():
    assert len(QUOTED) == sum(block.language == "swift" for block in blocks(TUTORIAL))
    assert {name for name, _ in QUOTED} == set(SNIPPETS)


def test_the_example_is_short():
    assert text(PROGRAM).count("\n") < 100
