"""What mentions the user is found where it is."""

import re

from playwright.sync_api import expect


def test_unread_mentions_are_gone_to_one_after_the_other(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Plans", bob)
    alice.say(group, "Look here", mentions=[bob.name])
    alice.say_many(group, [f"line {number}" for number in range(120)])
    alice.say(group, "And here", mentions=[bob.name])
    alice.say_many(group, [f"more {number}" for number in range(120)])
    tab = bob.open().choose("Plans")
    next_one = tab.page.get_by_role("button", name=re.compile("^Next mention"))
    tab.shows("Look here")
    expect(next_one).to_have_attribute("aria-label", "Next mention, 1 unread")
    next_one.click()
    expect(tab.message("And here")).to_be_in_viewport()
    expect(next_one).to_have_count(0)
    expect(tab.message("And here")).to_be_focused()
