"""One system for the whole run; fresh users for every test."""

import secrets

import pytest

from judged import JudgedSystem
from people import Person


@pytest.fixture(scope="session")
def system():
    system = JudgedSystem()
    try:
        system.up()
        yield system
    except AssertionError as failure:
        pytest.exit(str(failure), returncode=1)  # Said once, not by every test.
    finally:
        system.remove()


@pytest.fixture(scope="module")
def asking(system):
    """The system asks whom strangers bring into conversations, for all tests of a module."""
    system.choose(PARLEY_MESSAGE_REQUESTS="strangers")
    yield
    system.choose(PARLEY_MESSAGE_REQUESTS="off")


@pytest.fixture
def new_person(system):
    """Makes users that nobody else has: their conversations are theirs alone."""
    people = []

    def make(name: str, **claims) -> Person:
        people.append(Person(system, f"{name}-{secrets.token_hex(4)}", **claims))
        return people[-1]

    yield make
    for person in people:
        person.http.close()


@pytest.fixture
def anna(new_person):
    return new_person("anna")


@pytest.fixture
def ben(new_person):
    return new_person("ben")


@pytest.fixture
def carla(new_person):
    return new_person("carla")


@pytest.fixture
def stranger(new_person):
    return new_person("stranger")


@pytest.fixture(autouse=True)
def processes_stay_up(request):
    """Whatever a test does: the processes that were there before are there after, the same ones."""
    if "system" not in request.fixturenames:
        yield
        return
    system = request.getfixturevalue("system")
    before = system.living()
    yield
    assert system.living() == before


def pytest_collection_modifyitems(items):
    """What asks whether everything was seen comes after everything."""
    items.sort(key=lambda item: item.path.name == "test_coverage.py")
