"""Files that are scanned for viruses before they are ready, by a real clamd."""

import random

import pytest
import requests
from system import System
from test_media import expect_problem, png
from uploads import PATIENCE, Uploader, eventually, stored_files
from virus_scanner import EICAR, VirusScanner


@pytest.fixture(scope="module")
def scanner(single_scanned) -> VirusScanner:
    return single_scanned.scanner


@pytest.fixture(scope="module")
def single_scanned():
    system = System(instances=1)
    scanner = None
    try:
        system.up()
        scanner = system.scanner = VirusScanner(system.state / "scanner")
        system.change("media", PARLEY_MEDIA_CLAMD=f"unix:{scanner.socket}")
        system.revive()
        yield system
    finally:
        if scanner:
            scanner.kill()
        system.remove()


@pytest.fixture
def uploader(single_scanned) -> Uploader:
    return Uploader(single_scanned)


def refused(uploader: Uploader, content: bytes) -> dict:
    path = begun(uploader, content)
    facts = eventually(lambda: (f := uploader.call("GET", path).json())["state"] == "refused" and f, "it is refused")
    expect_problem(uploader.call("GET", path + "/content"), 404, "notFound")
    eventually(lambda: not stored_files(uploader.system, path), "nothing of it is kept")
    return facts


def begun(uploader: Uploader, content: bytes) -> str:
    path = uploader.created(len(content))
    assert uploader.patch(path, 0, content).status_code == 204
    return path


def metrics(system: System) -> str:
    return requests.get(system.address("media") + "/metrics", timeout=PATIENCE).text


def test_a_clean_file_passes_and_an_infected_one_is_refused(uploader):
    content = random.Random(1).randbytes(300_000)
    path = uploader.upload(content)
    assert uploader.call("GET", path + "/content").content == content
    assert uploader.call("GET", uploader.upload(png(50, 40))).json()["width"] == 50
    assert refused(uploader, EICAR)["reason"] == "infected"
    # Also where it is only a part, and what else would find nothing wrong with it.
    assert refused(uploader, content + EICAR + content)["reason"] == "infected"
    assert refused(uploader, png(50, 40) + EICAR)["reason"] == "infected"
    assert 'parley_media_scans_total{result="infected"} 3' in metrics(uploader.system)


def test_what_is_too_large_to_be_scanned_is_refused(uploader):
    assert refused(uploader, bytes(5_000_000))["reason"] == "tooLarge"


def test_nothing_is_ready_while_the_scanner_is_away(uploader, scanner):
    scanner.kill()
    try:
        clean, infected = begun(uploader, b"clean"), begun(uploader, EICAR)
        eventually(
            lambda: 'parley_media_scans_total{result="failed"} 0' not in metrics(uploader.system), "a scan fails"
        )
        for path in (clean, infected):
            assert uploader.call("GET", path).json()["state"] == "processing"
            expect_problem(uploader.call("GET", path + "/content"), 409, "mediaNotReady")
    finally:
        scanner.start()
    uploader.ready(clean)
    eventually(lambda: uploader.call("GET", infected).json()["state"] == "refused", "it is scanned")
