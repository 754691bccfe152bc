"""Polls: made beside the field, voted in by a click, closed in the menu."""

import re

import pytest
from playwright.sync_api import expect
from test_access import violations

OPTIONS = ["Saturday", "Sunday", "Neither of them"]


def option(tab, name: str):
    return tab.message("Which day?").get_by_role("button", name=re.compile(f"^{name}"))


def total(tab):
    return tab.message("Which day?").locator(".poll .total")


def ask(person, group, **fields):
    person.say(group, "Which day?", poll={"options": OPTIONS} | fields)


def test_a_poll_is_made_voted_in_and_closed(people):
    alice, bob = people("alice", "bob")
    alice.group("Plans", bob)
    one, other = alice.open().choose("Plans"), bob.open().choose("Plans")
    one.button("New poll").click()
    dialog = one.page.get_by_role("dialog", name="New poll")
    dialog.get_by_label("Question", exact=True).fill("Which day?")
    dialog.get_by_label("Options, a line each").last.fill("Saturday\n\n Sunday ")
    dialog.get_by_role("button", name="Send poll").click()
    expect(dialog).to_have_count(0)
    for tab in (one, other):
        expect(total(tab)).to_have_text("0 votes")
    option(one, "Sunday").click()
    option(other, "Sunday").click()
    for tab in (one, other):
        expect(total(tab)).to_have_text("2 votes")
        expect(option(tab, "Sunday")).to_have_attribute("aria-pressed", "true")
    option(other, "Saturday").focus()
    other.page.keyboard.press("Enter")
    expect(option(other, "Saturday")).to_be_focused()
    expect(option(other, "Sunday")).to_have_attribute("aria-pressed", "false")
    expect(option(one, "Sunday")).to_contain_text("1")
    one.act("Which day?", "Show votes")
    expect(one.page.get_by_role("dialog", name="Votes").get_by_role("listitem")).to_have_count(2)
    one.page.keyboard.press("Escape")
    option(other, "Saturday").click()
    expect(total(one)).to_have_text("1 vote")
    assert other.menu("Which day?").get_by_role("menuitem", name="Close poll").count() == 0
    other.page.keyboard.press("Escape")
    one.act("Which day?", "Close poll")
    for tab in (one, other):
        expect(total(tab)).to_have_text("1 vote, closed")
        expect(option(tab, "Saturday")).to_be_disabled()


def test_a_vote_without_a_connection_is_sent_later_and_the_last_one_counts(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Tunnel", bob)
    ask(alice, group)
    tab, other = bob.open().choose("Tunnel"), alice.open().choose("Tunnel")
    expect(total(tab)).to_have_text("0 votes")
    tab.page.context.set_offline(True)
    option(tab, "Saturday").click()
    option(tab, "Neither").click()
    expect(total(tab)).to_have_text("1 vote")
    tab.page.context.set_offline(False)
    expect(total(other)).to_have_text("1 vote")
    expect(option(other, "Neither")).to_contain_text("1")
    expect(option(other, "Saturday")).to_contain_text("0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_poll_is_accessible_and_fits_a_phone(people, scheme):
    alice, bob = people("alice", "bob")
    group = alice.group("Plans", bob)
    ask(bob, group, multiple=True, options=["x" * 100, *OPTIONS])
    tab = alice.open().choose("Plans")
    tab.page.emulate_media(color_scheme=scheme)
    tab.page.set_viewport_size({"width": 360, "height": 700})
    option(tab, "Sunday").click()
    option(tab, "Saturday").click()
    expect(total(tab)).to_have_text("1 vote")
    assert violations(tab.page) == []
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.button("New poll").click()
    expect(tab.page.get_by_role("dialog", name="New poll")).to_be_visible()
    assert violations(tab.page) == []
