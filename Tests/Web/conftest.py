import importlib.machinery
import importlib.util
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from people import PATIENCE_MS, Person, new_name, start_browser
from playwright.sync_api import Browser, expect, sync_playwright
from system import PatientSystem, System

SERVE = Path(__file__).resolve().parents[2] / "Clients/web/serve"

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def system():
    system = PatientSystem(instances=1)
    try:
        system.up()
        yield system
    finally:
        system.remove()


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = start_browser(playwright)
        yield browser
        browser.close()


@pytest.fixture
def people(system: System, browser: Browser):
    """Makes users nobody else has: `alice, bob = people("alice", "bob")`. No page of theirs may report an error."""
    made: list[Person] = []

    def make(*roles: str) -> list[Person]:
        persons = [Person(system, browser, new_name(role)) for role in roles]
        made.extend(persons)
        return persons

    yield make
    for person in made:
        person.close()
    errors = [f"{person.name}: {error}" for person in made for error in person.errors]
    assert not errors


@dataclass
class Served:
    files: Path
    types: dict[str, str]
    """Which of the files are served, and as what."""
    url: str


def load_serve():
    loader = importlib.machinery.SourceFileLoader("serve", str(SERVE))
    serve = importlib.util.module_from_spec(importlib.util.spec_from_loader("serve", loader))
    loader.exec_module(serve)
    return serve


@pytest.fixture
def served(system: System, tmp_path: Path):
    """The page at an address of its own, from files that a test may change."""
    serve = load_serve()
    files = shutil.copytree(serve.BUILT, tmp_path / "page")
    server = serve.serve(system.address("ingest"), 0, files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Served(files, serve.TYPES, f"http://127.0.0.1:{server.server_port}/")
    server.shutdown()
    server.server_close()


class Front:
    """The page with ingest and media at one origin, as behind the proxy of a deployment. A test may stop requests for
    files on their way, and see which there were."""

    def __init__(self, system: System):
        front, serve = self, load_serve()

        class Handler(serve.Handler):
            ingest, media = system.address("ingest"), system.address("media")

            def pass_on(self, service: str):
                if service != self.media:
                    return super().pass_on(service)
                about = Request(self.command, self.path, dict(self.headers.items()))
                gate = front.gate
                if front.holds(about):
                    gate.wait(PATIENCE_MS / 1000)
                    self.close_connection = True  # Nobody knows what became of it.
                elif front.refuses(about):
                    self.close_connection = True
                    self.begin(403, [("Content-Length", "0")])
                else:
                    front.requests.append(about)
                    super().pass_on(service)

        self.gate = threading.Event()
        self.open()
        self.server = serve.Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def open(self):
        """Lets everything through again. What was held breaks off."""
        self.requests: list[Request] = []
        self.holds: Callable[[Request], bool] = lambda request: False
        self.refuses: Callable[[Request], bool] = lambda request: False
        self.gate.set()
        self.gate = threading.Event()

    def sent(self, method: str) -> list["Request"]:
        return [request for request in self.requests if request.method == method]

    def close(self):
        self.open()
        self.server.shutdown()
        self.server.server_close()


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]


@pytest.fixture(scope="session")
def session_front(system: System):
    front = Front(system)
    yield front
    front.close()


@pytest.fixture
def front(session_front: Front):
    session_front.open()
    yield session_front
    session_front.open()


@pytest.fixture
def senders(people, front):
    """People whose page has a service for files beside it."""

    def make(*roles: str) -> list[Person]:
        persons = people(*roles)
        for person in persons:
            person.front = front.url
        return persons

    return make


@pytest.fixture(autouse=True)
def processes_stay_up(request, system: System):
    yield
    if request.node.get_closest_marker("kills"):
        system.revive()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds the ends of the services' logs to the report of a failure."""
    report = (yield).get_result()
    if report.failed and "system" in getattr(item, "funcargs", {}):
        report.sections.append(("logs", item.funcargs["system"].log_ends()))
