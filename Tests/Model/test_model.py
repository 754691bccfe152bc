"""Who owns a slot: what is promised is kept by the rules of the code and by those for Citus, and broken by mistakes."""

import re

import pytest
from model import MODEL, search

ONE = "ONE_FANOUT"
CITUS = ("CITUS", "TWO_PHASE", "FENCED")
# By name: the shape, and how many messages and faults. README.md says how many states that makes.
SHAPES = {
    "two messages": (ONE, "MESSAGES=2", "FAULTS=1"),
    "two faults": (ONE, "MESSAGES=1", "FAULTS=2"),
    "two fanouts": ("MESSAGES=1", "FAULTS=1"),
    "a background writer that proves its epoch": ("LOCK_ELSEWHERE", "FENCED", ONE, "MESSAGES=1", "FAULTS=2"),
    "Citus, two messages": (*CITUS, ONE, "MESSAGES=2", "FAULTS=1"),
    "Citus, two faults": (*CITUS, ONE, "MESSAGES=1", "FAULTS=2"),
}

COMMITTED = "(i<=length)"
ONCE = "(row[i]!=session[k].message)"
ANNOUNCED = "length)&&(row"
ORDER = ".delivered+1"
EVERYTHING = "fanouts[0].phase==3"
# What somebody could get wrong, and the promise that it breaks.
MISTAKES = {
    "BAD_ANNOUNCED_BEFORE_COMMIT": (("MESSAGES=1", "FAULTS=1"), ANNOUNCED),
    "BAD_DOUBT_ACKNOWLEDGED": (("MESSAGES=1", "FAULTS=1"), COMMITTED),
    "BAD_REPETITION_STORED": (("MESSAGES=1", "FAULTS=0"), ONCE),
    "BAD_HOLE_IGNORED": (("MESSAGES=2", "FAULTS=0"), ORDER),
    "BAD_GAP_IGNORED": (("MESSAGES=2", "FAULTS=0"), EVERYTHING),
    "BAD_EPOCH_KEPT": (("MESSAGES=2", "FAULTS=1"), EVERYTHING),
    "BAD_QUEUE_KEPT": (("MESSAGES=2", "FAULTS=1"), EVERYTHING),
    "BAD_STALE_ANSWER": (("MESSAGES=1", "FAULTS=1"), EVERYTHING),
    "BAD_NOTHING_RECORDED": (("MESSAGES=1", "FAULTS=0"), EVERYTHING),
    "BAD_EPOCH_OF_NODE": (("CITUS", "FENCED", "MESSAGES=1", "FAULTS=2"), EVERYTHING),
    # Rules that are left out: the lock on another session than the one that writes, a session that writes to another
    # node than the one with its lock, a look at the place alone, a transaction that outlives its session.
    "LOCK_ELSEWHERE": (("MESSAGES=1", "FAULTS=1"), EVERYTHING),
    "CITUS": (("MESSAGES=1", "FAULTS=1"), EVERYTHING),
    "PLACED": (("CITUS", "MESSAGES=1", "FAULTS=2"), EVERYTHING),
    "TWO_PHASE": (("MESSAGES=1", "FAULTS=1"), EVERYTHING),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_promise_is_kept(shape):
    found = search(*SHAPES[shape])
    print(f"{shape}: {found.states} states, depth {found.depth}")
    assert found.violated is None
    assert found.ended, "no run came to its end, so nothing was compared there"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_breaks_the_promise_that_it_should(mistake):
    macros, promise = MISTAKES[mistake]
    found = search(mistake, ONE, *macros)
    assert found.violated and promise in found.violated


def test_every_mistake_of_the_model_is_tried():
    assert set(re.findall(r"\bBAD_\w+", MODEL.read_text())) - {"BAD_"} == {name for name in MISTAKES if "BAD" in name}
