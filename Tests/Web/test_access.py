"""For everybody: axe on every screen in both themes, the keyboard alone, large print, a phone."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect


def violations(page) -> list[str]:
    """What axe finds serious or critical."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {node['target']} {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_screen(people, scheme):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Screens", bob, carol)
    alice.group("Another one", bob)
    bob.direct(alice)
    first = bob.say(group, "See https://example.org and tell me")
    alice.say(group, "I will, @" + carol.name, replyTo=first["id"], mentions=[carol.name])
    bob.call("PUT", f"/v1/conversations/{group}/messages/{first['id']}/tapback", {"kind": "love"})
    gone = carol.say(group, "gone")
    carol.call("DELETE", f"/v1/conversations/{group}/messages/{gone['id']}?scope=everyone")
    edited = bob.say(group, "eddited")
    bob.call("PATCH", f"/v1/conversations/{group}/messages/{edited['id']}", {"text": "edited"})
    tab = alice.open(color_scheme=scheme).choose("Screens")
    tab.shows("edited")
    bob.say(group, "later")
    screens = {}

    def look(name: str):
        tab.page.wait_for_timeout(50)  # What appears has appeared: nothing moves.
        screens[name] = violations(tab.page)

    look("conversation")
    tab.menu("edited")
    look("menu")
    tab.page.keyboard.press("Escape")
    tab.act("edited", "Reply")
    look("reply")
    another = tab.page.get_by_role("option").filter(has_text="Another one")
    for action in ("Pin", "Mute", "Mark as unread"):
        another.click(button="right")
        tab.page.get_by_role("menuitem", name=action, exact=True).click()
    another.click(button="right")
    look("conversation actions")
    tab.page.keyboard.press("Escape")
    tab.button("Archived").click()
    look("archive")
    tab.button("Back to conversations").click()
    tab.option(bob.name).last.click(button="right")
    tab.page.get_by_role("menuitem", name="Block", exact=True).click()
    look("to block somebody")
    tab.page.get_by_role("dialog").get_by_role("button", name="Block", exact=True).click()
    tab.option(bob.name).last.click()
    expect(tab.page.get_by_text("You have blocked")).to_be_visible()
    look("blocked")
    tab.choose("Screens")
    for button, dialog in [
        ("New conversation", "New conversation"),
        ("Details of this conversation", "Details"),
        ("Settings", "Settings"),
    ]:
        tab.button(button).click()
        expect(tab.page.get_by_role("dialog", name=dialog)).to_be_visible()
        look(dialog)
        tab.button("Close").click()
    alice.call("DELETE", f"/v1/blocks/{bob.name}")
    tab.shows("later")
    tab.page.get_by_role("searchbox").fill("tell")
    expect(tab.page.get_by_role("list", name="Results").get_by_role("listitem")).to_have_count(1)
    look("search")
    tab.page.get_by_role("searchbox").fill("")
    alice.context.set_offline(True)
    tab.send("offline")
    expect(tab.page.get_by_text("No connection.")).to_be_visible()
    look("offline")
    alice.context.set_offline(False)
    tab.page.set_viewport_size({"width": 390, "height": 780})
    look("phone")
    tab.button("Back").click()
    look("list on a phone")
    assert not {name: found for name, found in screens.items() if found}


def test_everything_is_done_by_the_keyboard(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Keys", bob)
    alice.group("Other keys", bob)
    bob.say(group, "first")
    bob.say(group, "second")
    tab = alice.open()
    page, press = tab.page, tab.page.keyboard.press
    expect(tab.conversations).to_be_visible()
    tab.conversations.get_by_role("option").first.focus()
    press("End")
    press("Home")
    press("Enter")
    expect(page.get_by_role("heading", name="Keys", level=2, exact=True)).to_be_visible()
    tab.shows("second")
    expect(tab.field).to_be_focused()
    page.keyboard.type("hello")
    press("Enter")
    tab.shows("hello")
    # Up in the empty field edits; out of the field backwards come the messages.
    press("ArrowUp")
    expect(tab.button("Cancel edit")).to_be_visible()
    press("Escape")
    expect(tab.button("Cancel edit")).to_be_hidden()
    press("Shift+Tab")
    expect(tab.message("hello")).to_be_focused()
    press("ArrowUp")
    expect(tab.message("second")).to_be_focused()
    press("Enter")
    expect(page.get_by_role("menu", name="Message actions")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Reply")).to_be_focused()
    press("ArrowUp")
    expect(page.get_by_role("button", name="love")).to_be_focused()
    press("ArrowRight")
    expect(page.get_by_role("button", name="like", exact=True)).to_be_focused()
    press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Reply")).to_be_focused()
    press("Enter")
    expect(tab.button("Cancel reply")).to_be_visible()
    expect(tab.field).to_be_focused()
    press("Escape")
    expect(tab.button("Cancel reply")).to_be_hidden()
    press("Shift+Tab")
    expect(tab.message("second")).to_be_focused()
    press("Enter")
    expect(page.get_by_role("menuitem", name="Reply")).to_be_focused()
    press("ArrowUp")
    expect(page.get_by_role("button", name="love")).to_be_focused()
    press("Enter")
    expect(tab.message("second").get_by_role("button", name=re.compile("1 love"))).to_be_visible()
    expect(tab.message("second")).to_be_focused()
    press("Enter")
    expect(page.get_by_role("menu", name="Message actions")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("menu", name="Message actions")).to_be_hidden()
    expect(tab.message("second")).to_be_focused()
    press("ControlOrMeta+k")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_the_parent_of_a_reply_is_reached_by_the_keyboard(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Jump", bob)
    question = alice.say(group, "Who brings the rope?")
    alice.say_many(group, [f"chatter {n}" for n in range(40)])
    alice.say(group, "Nobody?", replyTo=question["id"])
    tab = bob.open().choose("Jump")
    tab.shows("Nobody?")
    tab.message("Nobody?").focus()
    tab.page.keyboard.press("Enter")
    tab.page.get_by_role("menuitem", name="Jump to original").focus()
    tab.page.keyboard.press("Enter")
    expect(tab.message("Who brings the rope?").first).to_be_focused()
    expect(tab.message("Who brings the rope?").first).to_be_in_viewport()
    # Of others there is nothing to jump to.
    expect(tab.menu("chatter 0").get_by_role("menuitem", name="Jump to original")).to_have_count(0)


ANNOUNCED = """
    () => {
        globalThis.announced = [];
        const root = document.querySelector("parley-chat").shadowRoot;
        const added = (all) => all.flatMap((one) => [...one.addedNodes]);
        const note = (all) => announced.push(...added(all).map((node) => node.textContent));
        new MutationObserver(note).observe(root.querySelector("parley-announcer [aria-live]"), { childList: true });
    }
"""
"""Notes what a screen reader is told of."""


def test_a_message_that_is_refused_is_announced(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Refused", bob)
    said = bob.say(group, "a question")
    tab = alice.open().choose("Refused")
    tab.shows("a question")
    tab.page.evaluate(ANNOUNCED)
    alice.context.set_offline(True)
    tab.act("a question", "Reply")
    tab.send("an answer")
    bob.call("DELETE", f"/v1/conversations/{group}/messages/{said['id']}?scope=everyone")
    alice.context.set_offline(False)
    expect(tab.message("an answer")).to_contain_text("Not sent:")
    tab.page.wait_for_function("() => announced.length > 0")
    [text] = tab.page.evaluate("announced")
    assert re.fullmatch("Not sent: .+ an answer", text)


def test_a_new_message_is_announced_once(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Announced", bob)
    tab = bob.open().choose("Announced")
    tab.page.evaluate(ANNOUNCED)
    alice.say(group, "listen")
    tab.shows("listen")
    tab.page.wait_for_timeout(500)
    assert tab.page.evaluate("announced") == [f"{alice.name}: listen"]


@pytest.mark.parametrize("size", [(640, 400), (390, 780), (320, 560)])
def test_a_small_place_shows_one_pane_at_a_time(people, size):
    """640 × 400 is a small window at 200 %."""
    alice, bob = people("alice", "bob")
    group = alice.group("Small", bob)
    alice.say(group, "a message of some length, so that it has to be broken into lines")
    tab = bob.open(viewport={"width": size[0], "height": size[1]})
    tab.choose("Small")
    expect(tab.conversations).to_be_hidden()
    tab.send("answer")
    for control in (tab.field, tab.button("Back"), tab.button("Details of this conversation")):
        expect(control).to_be_in_viewport(ratio=1)
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.button("Back").click()
    expect(tab.conversations).to_be_visible()


def test_right_to_left_pages_are_mirrored(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Mirror", bob)
    alice.say(group, "mine")
    bob.say(group, "his")
    tab = alice.open().choose("Mirror")
    tab.shows("his")
    tab.page.evaluate("document.documentElement.dir = 'rtl'")
    middle = tab.log.bounding_box()["x"] + tab.log.bounding_box()["width"] / 2
    assert tab.message("mine").locator(".bubble").bounding_box()["x"] < middle
    assert tab.message("his").locator(".bubble").bounding_box()["x"] > middle - 100
    assert tab.conversations.bounding_box()["x"] > middle
