"""The core where it meets the browser: IndexedDB, `fetch`, WebSocket and the clock."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "Clients/web/tests/core/browser.ts"
ORIGIN = "https://core.example"
TOKEN = "Bearer a.b.c"


@pytest.fixture(scope="module")
def script() -> str:
    esbuild = shutil.which("esbuild")
    assert esbuild, "esbuild is missing: run deploy/bootstrap"
    return subprocess.check_output([esbuild, SOURCE, "--bundle", "--format=iife", "--global-name=core"], text=True)


@pytest.fixture
def page(browser, script):
    """An empty page at an origin that only this test answers for."""
    page = browser.new_page()
    page.route("**/*", lambda route: route.fulfill(content_type="text/html", body="<!DOCTYPE html>"))
    page.clock.install()
    page.goto(ORIGIN)
    page.add_script_tag(content=script)
    yield page
    page.close()


@pytest.mark.parametrize("seed", range(5))
def test_the_database_of_the_simulation_behaves_as_the_browsers(page, seed):
    assert page.evaluate("seed => core.compareDatabases(seed)", seed) == []


def test_a_damaged_copy_is_replaced_with_what_was_not_sent(page):
    assert page.evaluate("core.replaceDamaged()") == []


def test_a_copy_that_a_newer_page_takes_while_it_is_opened_is_left_to_that_one(page):
    assert page.evaluate("core.leaveToNewer()") == []


@pytest.mark.parametrize("version", [3, 4])
def test_a_copy_of_an_earlier_version_opens_with_all_that_it_had(page, version):
    assert page.evaluate("version => core.upgrade(version)", version) == []


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ({"status": 200, "json": {"lastSeq": 3}}, {"body": {"lastSeq": 3}}),
        ({"status": 201, "json": {"id": "m"}}, {"body": {"id": "m"}}),
        ({"status": 204}, {"body": None}),
        # What stands between may say 200 and send a page, or break off.
        ({"status": 200, "body": "<html>"}, {"failure": {}}),
        (None, {"failure": {}}),
        (
            {"status": 409, "json": {"title": "Conflict", "detail": "In use.", "code": "conflict", "status": 200}},
            {
                "failure": {
                    "problem": {"title": "Conflict", "detail": "In use.", "code": "conflict", "status": 409},
                    "retryAfter": None,
                }
            },
        ),
        (
            {"status": 429, "json": {"code": "limited"}, "headers": {"Retry-After": "7"}},
            {
                "failure": {
                    "problem": {
                        "title": "Too Many Requests",
                        "detail": "Too Many Requests",
                        "code": "limited",
                        "status": 429,
                    },
                    "retryAfter": 7_000,
                }
            },
        ),
        (
            {"status": 502, "body": "<html>", "headers": {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}},
            {
                "failure": {
                    "problem": {"title": "Bad Gateway", "detail": "Bad Gateway", "code": "", "status": 502},
                    "retryAfter": None,
                }
            },
        ),
    ],
)
def test_whatever_a_server_says_is_an_answer(page, response, answer):
    page.route("**/v1/**", lambda route: route.fulfill(**response) if response else route.abort())
    assert page.evaluate("core.call(location.origin, { method: 'GET', path: '/v1/limits' })") == answer


def test_a_request_bears_its_token_its_key_and_its_body(page):
    asked = []
    page.route("**/v1/**", lambda route: (asked.append(route.request), route.fulfill(json={})))
    page.evaluate(
        """core.call(location.origin,
            { method: "PATCH", path: "/v1/x?scope=me", body: { text: "é" }, idempotencyKey: "k" }, "a.b.c")"""
    )
    page.evaluate("core.call(location.origin, { method: 'GET', path: '/v1/limits' })")
    write, read = asked
    assert (write.method, write.url, write.post_data_json) == ("PATCH", f"{ORIGIN}/v1/x?scope=me", {"text": "é"})
    assert write.headers["authorization"] == TOKEN
    assert (write.headers["idempotency-key"], write.headers["content-type"]) == ("k", "application/json")
    assert "authorization" not in read.headers and read.post_data is None


OPEN = """
    limits => {
        globalThis.heard = [];
        const outside = core.browser(null, {}, location.origin, () => Promise.resolve(limits));
        globalThis.socket = outside.open({
            opened: () => heard.push("opened"), frame: (frame) => heard.push(frame), closed: () => heard.push("closed"),
        });
    }
"""


def wait_for(page, heard: list):
    page.wait_for_function("wanted => JSON.stringify(heard) === JSON.stringify(wanted)", arg=heard)


def test_a_socket_brings_frames_and_passes_over_what_is_none(page):
    sent = []
    sockets = []

    def serve(socket):
        sockets.append(socket)
        socket.on_message(lambda text: sent.append(text))

    page.route_web_socket("**", serve)
    page.evaluate(OPEN, {})
    wait_for(page, ["opened"])
    sockets[0].send('{"type":"pong"}')
    sockets[0].send("no frame")
    sockets[0].send('{"type":"bye"}')
    wait_for(page, ["opened", {"type": "pong"}, {"type": "bye"}])
    page.evaluate("socket.send({ type: 'ping', id: 'x' })")
    page.wait_for_function("() => true")
    assert sent == ['{"type":"ping","id":"x"}']
    assert sockets[0].url == "wss://core.example/v1/socket"
    sockets[0].close()
    wait_for(page, ["opened", {"type": "pong"}, {"type": "bye"}, "closed"])
    page.evaluate("socket.send({ type: 'ping', id: 'late' })")
    assert len(sent) == 1


def test_a_socket_on_which_nothing_is_heard_is_given_up_once(page):
    sent = []
    page.route_web_socket("**", lambda socket: socket.on_message(lambda text: sent.append(text)))
    page.evaluate(OPEN, {"socketUrl": "wss://live.example/v1/socket"})
    wait_for(page, ["opened"])
    page.clock.run_for(55_000)
    assert sent == ['{"type":"ping","id":"heartbeat"}'] * 2
    page.clock.run_for(60_000)
    wait_for(page, ["opened", "closed"])
    page.clock.run_for(120_000)
    wait_for(page, ["opened", "closed"])
    assert len(sent) == 2


@pytest.mark.parametrize("limits", [None, {"socketUrl": "ws://[bad"}, {"socketUrl": "ftp://live.example"}])
def test_where_no_socket_can_be_opened_it_counts_as_closed(page, limits):
    page.evaluate(OPEN, limits)
    wait_for(page, ["closed"])


def test_a_socket_that_is_closed_before_its_address_is_known_is_never_opened(page):
    opened = []
    page.route_web_socket("**", lambda socket: opened.append(socket))
    page.evaluate(OPEN, {})
    page.evaluate(f"({OPEN.strip()})({{}}); socket.close()")
    wait_for(page, [])
    page.wait_for_timeout(100)
    assert len(opened) <= 1, "only the first one may have been opened"


def test_a_token_is_kept_unless_it_is_of_another_user(page):
    kept = page.evaluate(
        """async () => {
            const name = "tokens";
            const database = await core.openIndexedDB(name, () => {});
            const token = (user) => `x.${btoa(JSON.stringify({ sub: user }))}.x`;
            const account = () => database.read((rows) => rows.get("account", 0));
            const ask = (token) => core.tokenOf(database, { token: () => Promise.resolve(token) }, false);
            await database.write((rows) => rows.put("account", { only: 0, isListComplete: false, userId: "anna" }));
            const kept = [];
            for (const user of ["anna", "mallory"]) {
                const given = await ask(token(user));
                kept.push(given === token(user), (await account()).token === token("anna"));
            }
            database.close();
            await core.eraseIndexedDB(name);
            return kept;
        }"""
    )
    assert kept == [True, True, True, True]
