"""Several tabs of one browser: one session, one copy."""

import time
import urllib.request

from playwright.sync_api import expect
from system import PATIENCE


KEPT = """
    async () => {
        const done = (request) => new Promise((resolve) => request.onsuccess = () => resolve(request.result));
        let rows = 0;
        for (const { name } of await indexedDB.databases()) {
            const database = globalThis.held ?? await done(indexedDB.open(name));
            for (const store of database.objectStoreNames) {
                rows += await done(database.transaction(store).objectStore(store).count());
            }
            database.close();
        }
        return rows;
    }
"""
"""How many rows are stored in the browser."""


def sockets(system) -> int:
    """The WebSockets that fanout serves."""
    text = urllib.request.urlopen(system.address("fanout") + "/metrics", timeout=PATIENCE).read().decode()
    lines = [line for line in text.splitlines() if line.startswith("parley_fanout_sessions")]
    return int(float(lines[0].split()[-1]))


def test_tabs_show_the_same_and_hold_one_session(people, system):
    alice, bob = people("alice", "bob")
    group = alice.group("Tabs", bob)
    one = alice.open().choose("Tabs")
    two = alice.tab().choose("Tabs")
    bob.say(group, "to both")
    one.shows("to both")
    two.shows("to both")
    two.send("from the second")
    one.shows("from the second")
    expect(two.button("Sent").or_(two.button("Delivered"))).to_be_visible()
    alice.finds(group, ["to both", "from the second"])
    deadline = time.monotonic() + PATIENCE
    while sockets(system) != 1:  # Those of earlier tests may still be ending.
        assert time.monotonic() < deadline, sockets(system)
        time.sleep(0.05)


def test_the_next_tab_leads_after_the_leaders_end(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Leader", bob)
    one = alice.open().choose("Leader")
    two = alice.tab().choose("Leader")
    bob.say(group, "first")
    two.shows("first")
    one.page.close()
    bob.say(group, "second")
    two.shows("second")
    two.send("third")
    expect(two.button("Sent").or_(two.button("Delivered"))).to_be_visible()
    bob.finds(group, ["first", "second", "third"])


def test_signing_out_in_one_tab_signs_out_all_and_erases(people):
    alice, bob = people("alice", "bob")
    alice.group("Secret", bob)
    one = alice.open().choose("Secret")
    one.send("for our eyes")
    two = alice.tab().choose("Secret")
    one.page.bring_to_front()  # A tab behind another one draws, and so is clicked, once a second.
    one.button("Settings").click()
    one.button("Sign out").click()
    one.page.get_by_role("dialog", name="Sign out?").get_by_role("button", name="Sign out").click()
    for tab in (one, two):
        expect(tab.page.get_by_role("heading", name="Signed out")).to_be_visible()
    assert one.page.evaluate(KEPT) == 0
    one.page.reload()
    expect(one.page.get_by_text("Open this page by a link")).to_be_visible()


def test_signing_out_empties_a_copy_that_a_page_does_not_let_go(people):
    """A page that the browser has suspended, for example: as long as it has the copy open, nobody can remove it."""
    alice, bob = people("alice", "bob")
    alice.group("Secret", bob)
    tab = alice.open().choose("Secret")
    tab.send("for our eyes")
    other = alice.context.new_page()
    other.goto(alice.url + "icon.svg")
    other.evaluate(
        """async () => {
            const [{ name }] = await indexedDB.databases();
            const request = indexedDB.open(name);
            await new Promise((resolve) => request.onsuccess = resolve);
            globalThis.held = request.result;
        }"""
    )
    tab.page.bring_to_front()
    tab.button("Settings").click()
    tab.button("Sign out").click()
    tab.page.get_by_role("dialog", name="Sign out?").get_by_role("button", name="Sign out").click()
    expect(tab.page.get_by_role("heading", name="Signed out")).to_be_visible()
    assert other.evaluate(KEPT) == 0


def test_every_tab_learns_the_limits(people):
    [alice] = people("alice")
    alice.open()
    follower = alice.context.new_page()
    with follower.expect_response("**/v1/limits"):
        follower.goto(alice.url)
