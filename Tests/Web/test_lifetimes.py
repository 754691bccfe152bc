"""Messages that disappear."""

import pytest
from playwright.sync_api import expect
from test_access import violations

DAY = 86_400


def choose(tab, label: str, what: str = "Disappearing messages"):
    tab.button("Details of this conversation").click()
    tab.page.get_by_role("dialog", name="Details").get_by_label(what).select_option(label=label)
    tab.page.keyboard.press("Escape")


def end(system, conversation: str):
    """The time of all messages is over that were sent with a lifetime."""
    where = f"WHERE conversation_id = '{conversation}'"
    system.sql(f"UPDATE store.messages SET created_at = created_at - interval '2 s' {where}")
    system.sql(f"UPDATE store.lifetimes SET seconds = 1, due_at = '-infinity' {where}")


def test_the_owner_chooses_everybody_sees_it_and_what_is_over_is_gone(system, people):
    alice, bob = people("alice", "bob")
    group = alice.group("Secrets", bob)
    alice.say(group, "This stays")
    one, other = alice.open().choose("Secrets"), bob.open().choose("Secrets")
    one.shows("This stays")
    choose(one, "1 day")
    for tab in (one, other):
        expect(tab.page.get_by_text("Messages disappear after 1 day")).to_be_visible()
    assert bob.call("GET", f"/v1/conversations/{group}")["messageLifetime"]["seconds"] == DAY
    one.send("This goes")
    other.shows("This goes")
    end(system, group)
    for tab in (one, other):
        expect(tab.page.get_by_text("This goes")).to_have_count(0)
        expect(tab.page.get_by_text("Message deleted")).to_have_count(0)
        expect(tab.message("This stays")).to_be_visible()
    expect(other.option("Secrets")).to_contain_text("This stays")
    choose(one, "Everybody has read it", "Counted from when")
    for tab in (one, other):
        expect(tab.page.get_by_text("Messages disappear 1 day after everybody has read them")).to_be_visible()
    assert bob.call("GET", f"/v1/conversations/{group}")["messageLifetime"]["from"] == "reading"
    choose(one, "Off")
    expect(other.page.get_by_text("Messages disappear")).to_be_hidden()
    # A member is not offered to choose.
    other.button("Details of this conversation").click()
    details = other.page.get_by_role("dialog", name="Details")
    expect(details.get_by_role("list", name="Members")).to_be_visible()
    expect(details.get_by_label("Disappearing messages")).to_have_count(0)


def test_without_a_connection_it_goes_by_itself(people):
    alice, bob = people("alice", "bob")
    pair = alice.direct(bob)
    bob.call("PUT", f"/v1/conversations/{pair}/lifetime", {"seconds": 60})
    tab = alice.open()
    tab.page.clock.install()
    tab.choose(bob.name)
    bob.say(pair, "Only a minute")
    tab.shows("Only a minute")
    tab.page.context.set_offline(True)
    tab.page.clock.fast_forward("01:30")
    expect(tab.page.get_by_text("Only a minute")).to_have_count(0)
    stored = """async () => {
      const name = (await indexedDB.databases()).map(({ name }) => name).find((name) => name.startsWith("parley"));
      const opening = indexedDB.open(name);
      await new Promise((resolve) => opening.onsuccess = resolve);
      const rows = opening.result.transaction("messages").objectStore("messages").getAll();
      await new Promise((resolve) => rows.onsuccess = resolve);
      return rows.result.map(({ text }) => text);
    }"""
    assert "Only a minute" not in tab.page.evaluate(stored)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_said_and_chosen_is_accessible(people, scheme):
    [alice] = people("alice")
    group = alice.group("Secrets")
    alice.call("PUT", f"/v1/conversations/{group}/lifetime", {"seconds": 90})
    tab = alice.open(color_scheme=scheme).choose("Secrets")
    expect(tab.page.get_by_text("Messages disappear after 90 seconds")).to_be_visible()
    tab.button("Details of this conversation").click()
    field = tab.page.get_by_role("dialog", name="Details").get_by_label("Disappearing messages")
    expect(field).to_have_value("90")
    assert violations(tab.page) == []
