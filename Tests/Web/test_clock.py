"""Devices whose clock is wrong, or is set while a page is open."""

import re
import time

import pytest
from playwright.sync_api import expect

DAY = 86_400


@pytest.mark.parametrize("wrong_by", [2 * DAY, -2 * DAY, 400 * DAY])
def test_with_a_wrong_clock_messages_keep_their_order_and_can_be_edited(people, wrong_by):
    alice, bob = people("alice", "bob")
    group = alice.group("Clock", bob)
    bob.say(group, "before")
    tab = alice.open()
    tab.page.clock.install(time=time.time() + wrong_by)
    tab.page.reload()
    tab.choose("Clock").shows("before")
    tab.send("mine")
    expect(tab.button("Sent").or_(tab.button("Delivered"))).to_be_visible()
    bob.say(group, "after")
    tab.shows("after")
    assert tab.order() == ["before", "mine", "after"]
    tab.field.press("ArrowUp")
    expect(tab.button("Cancel edit")).to_be_visible()
    tab.field.fill("mine, better")
    tab.field.press("Enter")
    tab.shows("mine, better")
    expect(tab.message("mine, better").get_by_role("button", name="Edited")).to_be_visible()
    alice.finds(group, ["before", "mine, better", "after"])


def test_a_clock_that_is_set_back_changes_neither_order_nor_connection(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Set back", bob)
    tab = alice.open().choose("Set back")
    tab.page.clock.install()
    tab.send("one")
    tab.page.clock.set_system_time(time.time() - 300 * DAY)
    tab.send("two")
    alice.finds(group, ["one", "two"])
    bob.say(group, "three")
    tab.shows("three")
    tab.page.clock.set_system_time(time.time() + DAY)
    tab.send("four")
    expect(tab.button("Sent").or_(tab.button("Delivered"))).to_be_visible()
    texts = ["one", "two", "three", "four"]
    alice.finds(group, texts)
    assert tab.order() == texts
    expect(tab.page.get_by_text("No connection.")).to_be_hidden()


def test_after_midnight_today_is_yesterday(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Midnight", bob)
    bob.say(group, "late")
    tab = alice.open()
    tab.page.clock.install()
    tab.page.reload()
    tab.choose("Midnight").shows("late")
    expect(tab.log.get_by_text("Today")).to_be_visible()
    tab.page.clock.fast_forward(DAY * 1000)
    expect(tab.log.get_by_text("Yesterday")).to_be_visible()
    expect(tab.message("late")).to_have_attribute("aria-label", re.compile("Yesterday"))
    expect(tab.option("Midnight")).to_contain_text("Yesterday")
    bob.say(group, "early")
    tab.shows("early")


def test_messages_disappear_by_the_server_s_clock(people):
    alice, bob = people("alice", "bob")
    group = alice.group("An hour", bob)
    alice.call("PUT", f"/v1/conversations/{group}/lifetime", {"seconds": 3_600})
    bob.say(group, "for an hour")
    tab = alice.open()
    tab.page.clock.install(time=time.time() + DAY)
    for _ in range(2):  # The second time from what is kept in the browser.
        tab.page.reload()
        tab.choose("An hour").shows("for an hour")
        tab.page.clock.run_for(60_000)
        expect(tab.message("for an hour")).to_be_visible()
    bob.say(group, "seen live")
    tab.shows("seen live")
    tab.page.clock.run_for(60_000)
    expect(tab.message("seen live")).to_be_visible()
    # Without a connection an hour later, where the server tells nothing.
    alice.context.set_offline(True)
    expect(tab.page.get_by_text("No connection.")).to_be_visible()
    tab.page.clock.fast_forward(3_700_000)
    expect(tab.message("for an hour")).to_have_count(0)
