import importlib.machinery
import importlib.util
import shutil
import threading
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


@pytest.fixture
def served(system: System, tmp_path: Path):
    """The page at an address of its own, from files that a test may change."""
    loader = importlib.machinery.SourceFileLoader("serve", str(SERVE))
    serve = importlib.util.module_from_spec(importlib.util.spec_from_loader("serve", loader))
    loader.exec_module(serve)
    files = shutil.copytree(serve.BUILT, tmp_path / "page")
    server = serve.serve(system.address("ingest"), 0, files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Served(files, serve.TYPES, f"http://127.0.0.1:{server.server_port}/")
    server.shutdown()
    server.server_close()


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
