"""The page in a frame of another origin, and the element in a page of one's own."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from client import token
from people import PATIENCE_MS
from playwright.sync_api import expect

AROUND = """<!DOCTYPE html><script>
    addEventListener("message", ({ data, source, origin }) => {
        if (origin === CHAT && data?.type === "token") source.postMessage({ type: "token", token: TOKEN }, origin);
    });
</script><iframe src="CHAT" width="900" height="600"></iframe>"""
"""A page of an application, as docs/web.md has it."""


@pytest.fixture
def application():
    """Serves what is put into `pages`, at an origin of its own."""
    pages: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", pages
    server.shutdown()
    server.server_close()


def page_around(chat: str, user: str) -> str:
    return (
        AROUND.replace('src="CHAT"', f'src="{chat}/"').replace("CHAT", f'"{chat}"').replace("TOKEN", f'"{token(user)}"')
    )


def test_a_page_of_another_origin_may_not_embed_the_page(people, system, browser, application):
    [alice] = people("alice")
    origin, pages = application
    pages["/"] = page_around(alice.url.rstrip("/"), alice.name)
    page = browser.new_page()
    refusals = []
    page.on("console", lambda message: "frame-ancestors" in message.text and refusals.append(message.text))
    page.goto(origin)
    expect(page.frame_locator("iframe").locator("parley-page")).to_have_count(0)
    assert refusals and page.frames[1].url.startswith("chrome-error:")
    page.close()


@pytest.mark.kills
def test_a_page_that_is_named_embeds_the_page_and_signs_it_in(people, system, browser, application):
    alice, bob = people("alice", "bob")
    group = alice.group("Framed", bob)
    origin, pages = application
    pages["/"] = page_around(system.address("ingest"), alice.name)
    own = bob.open().choose("Framed")
    own.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    assert origins_of(own) == ""
    system.kill("ingest")
    system.start("ingest", 0, PARLEY_WEB_ORIGINS=origin)
    try:
        system.revive()
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(origin)
        frame = page.frame_locator("iframe")
        frame.get_by_role("option", name="Framed").click()
        frame.get_by_role("textbox", name="Message").fill("from the frame")
        frame.get_by_role("button", name="Send").click()
        own.shows("from the frame")
        alice.finds(group, ["from the frame"])
        page.close()
        # A page that a worker has kept learns of it too: the worker that comes with another policy is another one.
        own.page.evaluate("navigator.serviceWorker.getRegistration().then((registration) => registration.update())")
        for _ in range(100):
            if origins_of(own) == origin:
                break
            own.page.wait_for_timeout(100)
            own.page.reload()
        assert origins_of(own) == origin
    finally:
        system.kill("ingest")  # The next test gets one without.


def origins_of(tab) -> str:
    return tab.page.locator("meta[name=parley-origins]").get_attribute("content")


DOCUMENTED = """
    const chat = document.querySelector("parley-chat");
    chat.token = async (isFresh, kept) => isFresh || !kept ? TOKEN : kept;
    chat.addEventListener("parley-unread", ({ detail }) => document.title = `unread ${detail}`);
"""
MOVED = DOCUMENTED + """document.querySelector("div").append(chat);"""
SCRIPT = '<script type="module" src="/parley.js"></script>'


@pytest.mark.parametrize(
    ("body", "script"),
    [
        (SCRIPT + '<parley-chat></parley-chat><script type="module" src="/own.js"></script>', DOCUMENTED),
        ('<parley-chat></parley-chat><script src="/own.js"></script>' + SCRIPT, DOCUMENTED),
        (SCRIPT + '<parley-chat></parley-chat><div></div><script type="module" src="/own.js"></script>', MOVED),
    ],
    ids=["as documented", "token before the script", "moved while it begins"],
)
def test_the_element_works_in_a_page_of_ones_own(people, browser, served, body, script):
    alice, bob = people("alice", "bob")
    group = alice.group("Element", bob)
    bob.say(group, "to the element")
    (served.files / "index.html").write_text(f'<!DOCTYPE html><link rel="stylesheet" href="/parley.css">{body}')
    (served.files / "own.js").write_text(script.replace("TOKEN", f"'{alice.token}'"))
    served.types["own.js"] = "text/javascript"
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(served.url)
    page.get_by_role("option", name="Element").click()
    page.get_by_role("textbox", name="Message").fill("from the element")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("button", name="Sent").or_(page.get_by_role("button", name="Delivered"))).to_be_visible()
    alice.finds(group, ["to the element", "from the element"])
    expect(page).to_have_title("unread 0")
    waiting = page.evaluate("navigator.locks.query().then(({ pending }) => pending.map(({ name }) => name))")
    assert waiting == [], "one element has one client"
    page.close()
