"""One system for each process that runs tests; fresh users for every test."""

import secrets

import pytest

from contract import described
from judged import JudgedSystem
from people import Person

ALL = 300
"""From so many tests on, everything that the document describes has to be seen."""
SEEN = pytest.StashKey[set[tuple[str, str]]]()


@pytest.fixture(scope="session")
def system(request):
    system = JudgedSystem()
    try:
        system.up()
        yield system
        request.config.stash[SEEN] |= system.contract.seen
    except AssertionError as failure:
        pytest.exit(str(failure), returncode=1)  # Said once, not by every test.
    finally:
        system.remove()


@pytest.fixture(scope="session")
def limits(system) -> dict:
    return system.http().get("/v1/limits").json()


@pytest.fixture(scope="module")
def asking(system):
    """The system asks whom strangers bring into conversations, for all tests of a module."""
    system.choose(PARLEY_MESSAGE_REQUESTS="strangers")
    yield
    system.choose(PARLEY_MESSAGE_REQUESTS="off")


@pytest.fixture
def sql(system):
    """Makes by SQL what takes too long, or too many requests, for a test."""
    return system.sql


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


# MARK: Was everything seen that the document describes?


def pytest_configure(config):
    config.stash[SEEN] = set()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """What one of several processes has seen."""
    node.config.stash[SEEN] |= set(map(tuple, getattr(node, "workeroutput", {}).get("seen", [])))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["seen"] = sorted(map(list, config.stash[SEEN]))
    elif unseen(config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    for what, outcome in unseen(config):
        terminalreporter.write_line(f"FAILED described and not seen: {what} {outcome}")


def unseen(config) -> list[tuple[str, str]]:
    """Of a run of all tests, whichever process ran them."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if len(reporter.stats.get("passed", [])) < ALL:
        return []
    return sorted(described() - config.stash[SEEN])


@pytest.fixture
def dora(new_person):
    return new_person("dora")


@pytest.fixture
def erin(new_person):
    return new_person("erin")
