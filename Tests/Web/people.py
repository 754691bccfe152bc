"""People who use the web client, each in a browser of their own, and the calls that prepare what they see."""

import json
import os
import secrets
import time
import urllib.request
import uuid
from collections.abc import Callable
from contextlib import suppress

from client import token
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, expect
from system import PATIENCE, System

PATIENCE_MS = 1000 * PATIENCE
"""Until what has to show counts as missing. Never waited for when it shows."""


CHROMIUM = os.environ.get("PARLEY_CHROMIUM", "/usr/bin/chromium-headless-shell")
"""Chromium without its windows, which would take half of what the pages take: toolbars are drawn for every tab."""


def start_browser(playwright: Playwright) -> Browser:
    # Tests run as root in containers, where Chromium has no sandbox. Its microphone is a tone.
    options = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=CHROMIUM, args=options)


def new_id() -> str:
    return str(uuid.uuid4())


class Person:
    """A user with a token. `open()` gives them a browser context of their own; further tabs share it."""

    def __init__(self, system: System, browser: Browser, name: str):
        self.system = system
        self.browser = browser
        self.name = name
        self.token = token(name)
        self.errors: list[str] = []
        self.front: str | None = None
        """Where the page is, if not at an ingest."""
        self._context: BrowserContext | None = None

    # The browser.

    @property
    def url(self) -> str:
        return self.front or self.system.address("ingest") + "/"

    @property
    def context(self) -> BrowserContext:
        assert self._context, "open() comes first"
        return self._context

    def open(self, prepare: Callable[[BrowserContext], object] | None = None, **options) -> "Tab":
        """A new browser, signed in by a link. Nothing fades in: what axe sees meanwhile has too little contrast."""
        self._context = self.browser.new_context(**{"reduced_motion": "reduce"} | options)
        self._context.set_default_timeout(PATIENCE_MS)
        if prepare:
            prepare(self._context)
        return self.tab(f"#token={self.token}")

    def tab(self, fragment: str = "") -> "Tab":
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self._note(message.type, message.text))
        page.goto(self.url + fragment)
        return Tab(self, page)

    def _note(self, kind: str, text: str):
        # A policy that was violated, or a promise nobody caught. A request that failed is no error of the page.
        if kind == "error" and "Failed to load resource" not in text and "WebSocket connection" not in text:
            self.errors.append(text)

    def close(self):
        if self._context:
            with suppress(Exception):
                self._context.close()
            self._context = None

    # The server, without a browser.

    def call(self, method: str, path: str, body: object = None) -> dict:
        request = urllib.request.Request(
            self.system.address("ingest") + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE) as answer:
            content = answer.read()
            return json.loads(content) if content else {}

    def group(self, title: str, *others: "Person") -> str:
        members = [other.name for other in others]
        body = {"id": new_id(), "kind": "group", "title": title, "members": members}
        return self.call("POST", "/v1/conversations", body)["id"]

    def direct(self, other: "Person") -> str:
        return self.call("POST", "/v1/conversations", {"kind": "direct", "members": [other.name]})["id"]

    def say(self, conversation: str, text: str, **fields) -> dict:
        return self.call("POST", f"/v1/conversations/{conversation}/messages", {"id": new_id(), "text": text} | fields)

    def say_many(self, conversation: str, texts: list[str]):
        for start in range(0, len(texts), 500):
            batch = [{"conversationId": conversation, "id": new_id(), "text": t} for t in texts[start : start + 500]]
            results = self.call("POST", "/v1/messages:batch", {"messages": batch})["results"]
            assert all(result["status"] in (200, 201) for result in results)

    def texts(self, conversation: str) -> list[str]:
        page = self.call("GET", f"/v1/conversations/{conversation}/messages?limit=200")
        return [message["text"] for message in page["messages"] if message["kind"] != "system"]

    def finds(self, conversation: str, texts: list[str | None]):
        """Soon the server has these messages and no others."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.texts(conversation)) != texts:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)


class Tab:
    """A tab of the page, by the accessible names that are part of its contract."""

    def __init__(self, person: Person, page: Page):
        self.person = person
        self.page = page

    @property
    def conversations(self) -> Locator:
        return self.page.get_by_role("navigation", name="Conversations").get_by_role("listbox")

    def option(self, title: str) -> Locator:
        return self.conversations.get_by_role("option").filter(has_text=title)

    def choose(self, title: str) -> "Tab":
        self.option(title).click()
        expect(self.page.get_by_role("heading", name=title, level=2)).to_be_visible()
        return self

    @property
    def log(self) -> Locator:
        return self.page.get_by_role("log", name="Messages")

    def message(self, text: str) -> Locator:
        return self.log.get_by_role("article").filter(has_text=text)

    @property
    def field(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def send(self, text: str):
        self.field.fill(text)
        self.button("Send").click()
        expect(self.message(text).last).to_be_visible()

    def menu(self, text: str) -> Locator:
        self.message(text).last.locator(".bubble").click(button="right")
        menu = self.page.get_by_role("menu", name="Message actions")
        expect(menu).to_be_visible()
        return menu

    def tap(self, text: str, kind: str):
        self.menu(text)
        self.page.get_by_role("group", name="Tapback").get_by_role("button", name=kind, exact=True).click()

    def act(self, text: str, action: str):
        self.menu(text).get_by_role("menuitem", name=action, exact=True).click()

    def shows(self, text: str):
        expect(self.message(text).last).to_be_visible()

    def order(self) -> list[str]:
        """The texts in sight, as they stand."""
        return self.log.locator("article .text").all_inner_texts()


def new_name(role: str) -> str:
    return f"{role}-{secrets.token_hex(3)}"
