import secrets

import aiohttp
import pytest
from client import User
from system import System, is_alive

SYSTEMS = {"single", "double", "system", "asking"}


# Modules whose tests share what their module starts, or take less time than it takes to hand them out.
TOGETHER = {
    "test_erasure", "test_fault_checker", "test_media_s3", "test_media_scan", "test_pooler", "test_promises",
    "test_roles",
}  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Where several processes run the tests (`-n 3 --dist loadgroup`) each has its own systems, and any test may go to
    any of them but for these."""
    for item in items:
        if (module := item.path.stem) in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(module))


@pytest.fixture(scope="session")
def single():
    """A system with one process of every service."""
    yield from _running(System(instances=1))


class Asking(System):
    """Whom strangers bring into something is asked first."""

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"PARLEY_MESSAGE_REQUESTS": "strangers"}


@pytest.fixture(scope="session")
def asking():
    yield from _running(Asking(instances=1))


@pytest.fixture(scope="session")
def double():
    """A system with two processes of every service, on tables cut into partitions."""
    yield from _running(System(instances=2, partitions=8))


def _running(system: System):
    try:
        system.up()
        yield system
    finally:
        system.remove()


@pytest.fixture(params=["single", "double"])
def system(request) -> System:
    """The system under test: every test that asks for it runs with one and with two processes of every service."""
    return request.getfixturevalue(request.param)


@pytest.fixture
async def people():
    """Makes users nobody else has: `alice, bob = people(system, 2)`. Their sessions end with the test.

    They take turns in which processes they talk to, so with two of each every conversation crosses them.
    """
    async with aiohttp.ClientSession() as http:
        made: list[User] = []

        def make(system: System, count: int) -> list[User]:
            users = [
                User(system, f"user-{n}-{secrets.token_hex(6)}", http, home=n % system.instances) for n in range(count)
            ]
            made.extend(users)
            return users

        yield make
        for user in made:
            await user.leave()


@pytest.fixture(autouse=True)
def processes_stay_up(request):
    """Whatever a test sends, the same processes are there after it; unless it is marked `kills`: they come back."""
    systems = {request.getfixturevalue(name) for name in SYSTEMS if name in request.fixturenames}
    pids = {system: system.pids() for system in systems}
    yield
    if request.node.get_closest_marker("kills"):
        for system in systems:
            system.revive()
    else:
        dead = [name for system in systems for name, pid in pids[system].items() if not is_alive(pid)]
        for system in systems if dead else ():
            system.revive()
        assert not dead


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds the ends of the services' logs to the report of a failure."""
    report = (yield).get_result()
    if report.failed:
        for name in SYSTEMS & getattr(item, "funcargs", {}).keys():
            report.sections.append((f"logs of {name}", item.funcargs[name].log_ends()))
