"""Whom a stranger writes to is asked first: apart from the conversations, with a choice where one would write."""

import re

import pytest
from conftest import Front
from pictures import picture
from playwright.sync_api import expect
from system import PatientSystem
from test_access import violations
from test_attachments import attach, file, goes, pictures
from uploads import eventually


class Asking(PatientSystem):
    """Whom strangers bring into something is asked first."""

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"PARLEY_MESSAGE_REQUESTS": "strangers"}


@pytest.fixture(scope="module")
def system():
    system = Asking(instances=1)
    try:
        system.up()
        yield system
    finally:
        system.remove()


@pytest.fixture(scope="module")
def session_front(system):
    front = Front(system)
    yield front
    front.close()


def test_a_request_is_read_unseen_and_accepted_on_all_devices(people):
    alice, bob, carol = people("alice", "bob", "carol")
    pair = bob.direct(alice)
    bob.say(pair, "we met on Sunday")
    carol.say(carol.group("Buy now", alice), "cheap")
    tab = alice.open()
    page, other = tab.page, alice.tab()
    expect(page.get_by_text("No conversations yet.")).to_be_visible()
    tab.button("Requests (2)").click()
    requests = page.get_by_role("listbox", name="Requests")
    expect(requests.get_by_role("option")).to_have_count(2)
    # Nothing of it comes live: the list is read again while it is shown, and so is a request.
    bob.say(pair, "on the beach")
    expect(requests.get_by_text("on the beach")).to_be_visible()
    tab.choose(bob.name).shows("we met on Sunday")
    expect(page.get_by_text(f"{bob.name} wants to write with you")).to_be_visible()
    expect(tab.field).to_be_hidden()
    # Nor does anything go out.
    bob.say(pair, "remember?")
    tab.shows("remember?")
    path = f"/v1/conversations/{pair}/members"
    members = {member["userId"]: member for member in bob.call("GET", path)["members"]}
    assert (members[alice.name]["readSeq"], members[alice.name]["deliveredSeq"]) == (0, 0)
    tab.menu("remember?")
    expect(page.get_by_role("menuitem")).to_have_text(["Forward…", "Copy", "Report…"])
    page.keyboard.press("Escape")

    # Without a connection: it is kept, and done later.
    alice.context.set_offline(True)
    tab.button("Accept").click()
    expect(tab.field).to_be_visible()
    expect(requests.get_by_role("option")).to_have_count(1)
    alice.context.set_offline(False)
    tab.button("Back to conversations").click()
    for each in (tab, other):
        expect(each.option(bob.name)).to_be_visible()
        expect(each.button("Requests (1)")).to_be_visible()
    tab.send("I do")
    bob.finds(pair, ["we met on Sunday", "on the beach", "remember?", "I do"])
    bob.say(pair, "at last")
    tab.shows("at last")


def test_a_picture_in_a_request_is_not_loaded_before_it_is_wanted(senders, front):
    alice, bob = senders("alice", "bob")
    pair = bob.direct(alice)
    bob.say(pair, "hello")
    sender = bob.open().choose(alice.name)
    attach(sender, file("harbour.png", picture()))
    sender.send("look")
    goes(sender)
    sender.page.close()
    tab = alice.open()

    def loaded() -> list[str]:
        return [request.path for request in front.requests if re.search("/(content|large|thumbnail)", request.path)]

    front.open()
    tab.button("Requests (1)").click()
    tab.choose(bob.name).shows("look")
    expect(tab.message("look").get_by_role("button", name="Download harbour.png")).to_be_visible()
    expect(pictures(tab)).to_have_count(0)
    assert loaded() == []
    tab.act("look", "Open")
    # Its place is there before it is.
    expect(tab.page.get_by_role("dialog").locator("img")).to_have_attribute("src", re.compile("^blob:"))
    assert loaded()
    tab.page.keyboard.press("Escape")
    tab.button("Accept").click()
    expect(pictures(tab)).to_have_count(1)


def test_a_request_is_declined_or_taken_back_and_gone(people):
    alice, bob, carol = people("alice", "bob", "carol")
    group = carol.group("Buy now", alice)
    carol.say(group, "cheap")
    second = carol.group("Buy more", alice)
    pair = bob.direct(alice)
    tab = alice.open()
    page, other = tab.page, alice.tab()
    for each in (tab, other):
        each.button("Requests (3)").click()
    tab.choose("Buy now").shows("cheap")
    expect(page.get_by_text(f"{carol.name} has added you to this group")).to_be_visible()
    tab.button("Decline").click()
    dialog = page.get_by_role("dialog", name="Decline the request?")
    dialog.get_by_role("button", name="Decline", exact=True).click()
    for each in (tab, other):
        expect(each.option("Buy now")).to_have_count(0)
    expect(page.get_by_text("Choose a conversation")).to_be_visible()
    # By who asks, while it is open.
    tab.choose("Buy more")
    carol.call("DELETE", f"/v1/conversations/{second}/members/{alice.name}")
    expect(page.get_by_text("Choose a conversation")).to_be_visible()
    # A block takes it away.
    tab.choose(bob.name)
    tab.button(f"Block {bob.name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Block", exact=True).click()
    for each in (tab, other):
        expect(each.page.get_by_text("No conversations yet.")).to_be_visible()
        expect(each.page.get_by_role("button", name=re.compile("Requests"))).to_have_count(0)
    # What is shown at once is stored soon.
    eventually(lambda: alice.call("GET", "/v1/requests")["requests"] == [], "the block is stored")
    assert [each["id"] for each in carol.call("GET", "/v1/conversations")["conversations"]].count(group) == 1
    assert pair in [each["id"] for each in bob.call("GET", "/v1/conversations")["conversations"]]


def test_who_does_not_answer_for_days_finds_all_that_wait(people):
    alice, bob = people("alice", "bob")
    alice.group("Known")
    tab = alice.open()
    expect(tab.option("Known")).to_be_visible()
    tab.page.close()
    bob.say(bob.direct(alice), "hello")
    tab = alice.tab()
    tab.button("Requests (1)").click()
    tab.choose(bob.name).shows("hello")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_requests(people, scheme):
    alice, bob = people("alice", "bob")
    bob.say(bob.direct(alice), "hello")
    tab = alice.open(color_scheme=scheme)
    expect(tab.button("Requests (1)")).to_be_visible()
    found = violations(tab.page)
    tab.button("Requests (1)").click()
    tab.choose(bob.name).shows("hello")
    found += violations(tab.page)
    tab.button("Decline").click()
    expect(tab.page.get_by_role("dialog")).to_be_visible()
    found += violations(tab.page)
    tab.button("Cancel").click()
    tab.button("Details of this conversation").click()
    expect(tab.page.get_by_role("dialog", name="Details")).to_be_visible()
    assert found + violations(tab.page) == []
