"""Messages that are sent at a time, chosen beside the button that sends."""

import re

import pytest
from playwright.sync_api import expect
from test_access import violations


def opened(tab):
    tab.button("Scheduled messages").click()
    return tab.page.get_by_role("dialog", name="Scheduled messages")


def test_what_is_written_is_sent_at_a_time_and_is_cancelled_or_sent_now(people, system):
    alice, bob = people("alice", "bob")
    group = alice.group("Plans", bob)
    alice.say(group, "Sunday?")
    one, other = alice.open().choose("Plans"), bob.open().choose("Plans")
    for text in ("First of these", "Second of these", "Third of these"):
        one.page.get_by_role("textbox", name="Message").fill(text)
        dialog = opened(one)
        dialog.get_by_role("button", name="Schedule", exact=True).click()
        expect(dialog.get_by_role("listitem").filter(has_text=text)).to_be_visible()
        one.page.keyboard.press("Escape")
        expect(one.page.get_by_role("textbox", name="Message")).to_have_value("")
    dialog = opened(one)
    expect(dialog.get_by_role("listitem")).to_have_count(3)
    dialog.get_by_role("button", name=re.compile("Cancel: First")).click()
    expect(dialog.get_by_role("listitem")).to_have_count(2)
    dialog.get_by_role("button", name=re.compile("Send now: Second")).click()
    other.shows("Second of these")
    expect(dialog.get_by_role("listitem")).to_have_count(1)
    system.sql("UPDATE store.scheduled SET at = now() - interval '1 s'")
    other.shows("Third of these")
    expect(dialog).to_contain_text("Nothing waits.")
    expect(opened(other)).to_contain_text("Nothing waits.")


def test_what_could_not_be_sent_is_shown_with_the_reason(people, system):
    alice, bob = people("alice", "bob")
    group = alice.group("News", bob)
    tab = bob.open().choose("News")
    tab.page.get_by_role("textbox", name="Message").fill("Not any more")
    opened(tab).get_by_role("button", name="Schedule", exact=True).click()
    alice.call("PUT", f"/v1/conversations/{group}/permissions", {"write": "admins"})
    system.sql("UPDATE store.scheduled SET at = now() - interval '1 s'")
    dialog = tab.page.get_by_role("dialog", name="Scheduled messages")
    expect(dialog).to_contain_text("Not sent: you might not write here then")
    dialog.get_by_role("button", name=re.compile("Cancel: Not any more")).click()
    expect(dialog).to_contain_text("Nothing waits.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_scheduled_messages(people, scheme):
    alice, bob = people("alice", "bob")
    alice.group("Plans", bob)
    tab = alice.open(color_scheme=scheme).choose("Plans")
    for text in ("One to be seen", ""):
        tab.page.get_by_role("textbox", name="Message").fill(text or "Two")
        dialog = opened(tab)
        if text:
            dialog.get_by_role("button", name="Schedule", exact=True).click()
            expect(dialog.get_by_role("listitem")).to_contain_text(text)
            tab.page.keyboard.press("Escape")
    assert violations(tab.page) == []
