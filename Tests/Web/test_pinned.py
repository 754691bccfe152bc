"""Pinned messages, and what an application adds to messages."""

import re

import pytest
from playwright.sync_api import expect
from test_access import violations


def pinned(tab):
    tab.button("Pinned messages").click()
    return tab.page.get_by_role("dialog", name="Pinned messages")


def test_a_message_is_pinned_for_everybody_found_in_the_list_and_taken_down(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Plans", bob)
    alice.say(group, "Harbour, pier 3")
    alice.say_many(group, [f"line {number}" for number in range(60)])
    one, other = alice.open().choose("Plans"), bob.open().choose("Plans")
    other.button("Jump to latest").click()
    for tab in (one, other):
        tab.shows("line 59")
    expect(pinned(one)).to_contain_text("Nothing is pinned.")
    one.page.keyboard.press("Escape")
    one.act("line 58", "Pin")
    for tab in (one, other):
        expect(tab.message("line 58")).to_contain_text("Pinned")
        expect(tab.message("line 58")).to_have_attribute("aria-label", re.compile(", Pinned"))
    # What is not in the window is found by the list.
    first = bob.call("GET", f"/v1/conversations/{group}/messages?after=1&limit=1")["messages"][0]
    bob.call("PUT", f"/v1/conversations/{group}/messages/{first['id']}/pin")
    dialog = pinned(other)
    expect(dialog.get_by_role("listitem")).to_have_count(2)
    expect(dialog.get_by_role("listitem").first).to_contain_text("Harbour, pier 3")
    dialog.get_by_role("button", name=re.compile("Harbour, pier 3")).click()
    expect(dialog).to_have_count(0)
    expect(other.message("Harbour, pier 3")).to_be_in_viewport()
    other.act("Harbour, pier 3", "Unpin")
    expect(other.message("Harbour, pier 3")).not_to_contain_text("Pinned")
    expect(pinned(one).get_by_role("listitem")).to_have_count(1)


def test_what_is_pinned_without_a_connection_is_pinned_later(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Tunnel", bob)
    alice.say(group, "Keep this")
    tab = alice.open().choose("Tunnel")
    tab.shows("Keep this")
    tab.page.context.set_offline(True)
    tab.act("Keep this", "Pin")
    expect(tab.message("Keep this")).to_contain_text("Pinned")
    tab.page.context.set_offline(False)
    other = bob.open().choose("Tunnel")
    expect(other.message("Keep this")).to_contain_text("Pinned")


def test_who_may_not_write_is_not_offered_to_pin(people):
    alice, bob = people("alice", "bob")
    group = alice.group("News", bob)
    alice.say(group, "Only admins write")
    alice.call("PUT", f"/v1/conversations/{group}/permissions", {"write": "admins"})
    tab = bob.open().choose("News")
    menu = tab.menu("Only admins write")
    expect(menu.get_by_role("menuitem", name="Copy")).to_be_visible()
    expect(menu.get_by_role("menuitem", name="Pin")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_pinned_messages(people, scheme):
    alice, bob = people("alice", "bob")
    group = alice.group("Plans", bob)
    said = alice.say(group, "Harbour, pier 3")
    alice.call("PUT", f"/v1/conversations/{group}/messages/{said['id']}/pin")
    tab = alice.open(color_scheme=scheme).choose("Plans")
    expect(tab.message("Harbour, pier 3")).to_contain_text("Pinned")
    expect(pinned(tab).get_by_role("listitem")).to_contain_text("Harbour, pier 3")
    assert violations(tab.page) == []


SHOWS_PLACES = """
() => {
  const chat = document.querySelector("parley-chat");
  chat.showExtra = (message) => {
    if (message.extra.fails) throw new Error("a mistake of the page");
    const card = document.createElement("p");
    card.className = "place";
    card.textContent = `Place: ${message.extra.place}`;
    return message.extra.place ? card : null;
  };
}
"""


def test_the_page_shows_and_sends_what_its_application_adds(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Places", bob)
    alice.group("Others", bob)
    bob.say(group, "Anna shares a place", extra={"place": "<b>Harbour</b>"})
    bob.say(group, "This one fails", extra={"fails": True})
    bob.say(group, "Nothing to show", extra={})
    tab = alice.open().choose("Others")
    tab.page.evaluate(SHOWS_PLACES)
    tab.choose("Places")
    card = tab.message("Anna shares a place").locator(".place")
    expect(card).to_have_text("Place: <b>Harbour</b>")
    for text in ("This one fails", "Nothing to show"):
        expect(tab.message(text)).to_be_visible()
        expect(tab.message(text).locator(".place")).to_have_count(0)
    send = "([id, extra]) => document.querySelector('parley-chat').send(id, 'Here', extra)"
    id = tab.page.evaluate(send, [group, {"place": "Pier 3", "n": [1, 2.5, None]}])
    expect(tab.message("Here").locator(".place")).to_have_text("Place: Pier 3")
    bob.finds(group, ["Anna shares a place", "This one fails", "Nothing to show", "Here"])
    stored = bob.call("GET", f"/v1/conversations/{group}/messages/{id}")
    assert stored["extra"] == {"place": "Pier 3", "n": [1, 2.5, None]}
    # It is in the copy.
    tab.page.reload()
    expect(tab.page.locator("parley-chat main")).to_be_visible()
    tab.page.evaluate(SHOWS_PLACES)
    tab.choose("Others").choose("Places")
    expect(tab.message("Here").locator(".place")).to_have_text("Place: Pier 3")
