#!/usr/bin/env python3
"""Makes the pictures of the web client in docs/images, from a system of its own:

    .venv/bin/python Tests/Web/screenshots.py

after `Tests/run web`, which makes .venv; needs the release executables.
"""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
IMAGES = REPOSITORY / "docs" / "images"
sys.path.append(str(REPOSITORY / "Tests" / "System"))

from people import Person, Tab, start_browser  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402
from system import System  # noqa: E402

WIDE = {"width": 1100, "height": 700}
PHONE = {"width": 390, "height": 700}


def main():
    IMAGES.mkdir(exist_ok=True)
    system = System(instances=1)
    try:
        system.up()
        with sync_playwright() as playwright:
            browser = start_browser(playwright)
            picture_all(system, browser)
            browser.close()
    finally:
        system.remove()


def picture_all(system: System, browser: Browser):
    alice, bob, carol = (Person(system, browser, name) for name in ("alice", "bob", "carol"))
    talk(alice, bob, carol)
    for scheme in ("light", "dark"):
        tab = alice.open(color_scheme=scheme, viewport=WIDE, locale="en-GB")
        picture(tab.choose("Climbing on Sunday"), f"web-{scheme}")
        alice.close()
    tab = alice.open(color_scheme="light", viewport=PHONE, locale="en-GB")
    picture(tab.choose("Climbing on Sunday"), "web-phone")
    alice.close()


def picture(tab: Tab, name: str):
    tab.shows("I do")
    tab.page.wait_for_timeout(1_000)
    if name.endswith("dark"):
        tab.menu("Ten it is.")
        tab.page.wait_for_timeout(300)
    tab.page.screenshot(path=IMAGES / f"{name}.png")


def talk(alice: Person, bob: Person, carol: Person):
    club, direct = alice.group("Book club", carol), alice.direct(bob)
    group = alice.group("Climbing on Sunday", bob, carol)
    alice.say(club, "Chapter seven by Thursday?")
    carol.say(club, "I am already at nine 🙈")
    bob.say(direct, "Did you find the tickets?")
    alice.say(direct, "Yes! Two seats by the window.")
    question = alice.say(group, "Sunday, nine?")
    bob.say(group, "Yes! I bring the long rope, so that everybody can try the overhang.", replyTo=question["id"])
    carol.say(group, "Ten would be better for me. The first train is at half past eight.")
    answer = alice.say(group, "Ten it is.")
    for person in (bob, carol):
        person.call("PUT", f"/v1/conversations/{group}/messages/{answer['id']}/tapback", {"kind": "like"})
    asked = bob.say(group, "Who brings cofee?")
    bob.call("PATCH", f"/v1/conversations/{group}/messages/{asked['id']}", {"text": "Who brings coffee?"})
    bob.say(group, "🥐🥐")
    alice.say(group, "I do, @carol brings the cake", mentions=["carol"])
    last = alice.call("GET", f"/v1/conversations/{group}")["lastSeq"]
    for person in (alice, bob):
        person.call("POST", f"/v1/conversations/{group}/receipts", {"readSeq": last})


if __name__ == "__main__":
    main()
