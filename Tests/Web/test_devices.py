"""Where one is signed in: the devices in the settings, their end, and what a page says whose device was ended."""

import re
import time

import pytest
from client import token
from people import PATIENCE, Person, Tab
from playwright.sync_api import Locator, expect
from test_access import violations

SIGNED_OUT = "You were signed out."


def token_of(user: str, device: str | None, age: float = 60) -> str:
    named = {} if device is None else {"dev": device}
    return token(user, iat=int(time.time() - age), **named)


@pytest.fixture
def devices(system, browser):
    """Makes devices of one user, a browser for each, and waits until those with a name are known."""
    made: list[Person] = []

    def make(user: Person, *names: str | None, **options) -> list[Tab]:
        tabs = []
        for name in names:
            device = Person(system, browser, user.name)
            device.token = token_of(user.name, name)
            made.append(device)
            tabs.append(device.open(**options))
        becomes(tabs[0].person, {name for name in names if name})
        return tabs

    yield make
    for device in made:
        device.close()
    assert not [error for device in made for error in device.errors]


def becomes(device: Person, names: set[str]):
    """Soon the server knows these devices of its user and no others."""
    deadline = time.monotonic() + PATIENCE
    while (found := {each["deviceId"] for each in device.call("GET", "/v1/devices")["devices"]}) != names:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def settings(tab: Tab) -> Locator:
    tab.button("Settings").click()
    return tab.page.get_by_role("dialog", name="Settings")


def listed(dialog: Locator) -> Locator:
    return dialog.get_by_role("list", name="Devices").get_by_role("listitem")


def question(tab: Tab) -> Locator:
    return tab.page.get_by_role("dialog", name=re.compile(r"^Sign out .+\?$"))


def confirm(tab: Tab):
    asks = question(tab)
    asks.get_by_role("button", name="Sign out", exact=True).click()
    expect(asks).to_have_count(0)


def test_one_device_is_ended_and_says_so_until_it_is_signed_in_again(people, devices):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday", bob)
    bob.say(group, "to be read again")
    desk, phone = devices(alice, "desk", "the phone/1")
    phone.choose("Sunday").shows("to be read again")
    dialog = settings(desk)
    expect(listed(dialog)).to_have_count(2)
    expect(listed(dialog).filter(has_text="desk")).to_contain_text("This device")
    other = listed(dialog).filter(has_text="the phone/1")
    expect(other).to_contain_text("Since Today, last seen Today")
    other.get_by_role("button", name="Sign out the phone/1").click()
    question(desk).get_by_role("button", name="Cancel").click()
    expect(other).to_have_count(1)
    other.get_by_role("button", name="Sign out the phone/1").click()
    confirm(desk)
    expect(listed(dialog)).to_have_count(1)
    # Its page says so, and stays as it is.
    expect(phone.page.get_by_text(SIGNED_OUT)).to_be_visible()
    phone.shows("to be read again")
    phone.send("written meanwhile")
    assert alice.texts(group) == ["to be read again"]
    phone.page.goto(f"{alice.url}#token={token_of(alice.name, 'the phone/1', age=-2)}")
    bob.finds(group, ["to be read again", "written meanwhile"])
    expect(phone.page.get_by_text(SIGNED_OUT)).to_have_count(0)
    becomes(desk.person, {"desk", "the phone/1"})


def test_all_others_are_ended_and_this_one_goes_on(people, devices):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday", bob)
    desk, phone, nameless = devices(alice, "desk", "phone", None)
    dialog = settings(desk)
    expect(listed(dialog)).to_have_count(2)
    dialog.get_by_role("button", name="Sign out all others").click()
    confirm(desk)
    expect(listed(dialog)).to_have_count(1)
    for ended in (phone, nameless):
        expect(ended.page.get_by_text(SIGNED_OUT)).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    desk.choose("Sunday").send("still here")
    bob.finds(group, ["still here"])
    expect(desk.page.get_by_text(SIGNED_OUT)).to_have_count(0)


def test_who_has_no_name_sees_those_that_have_and_may_end_each(people, devices):
    [alice] = people("alice")
    nameless, phone = devices(alice, None, "phone")
    dialog = settings(nameless)
    expect(listed(dialog)).to_have_count(1)
    expect(dialog.get_by_text("This device")).to_have_count(0)
    expect(dialog.get_by_role("button", name="Sign out all others")).to_be_hidden()
    listed(dialog).get_by_role("button", name="Sign out phone").click()
    confirm(nameless)
    # Without any there is nothing to show.
    expect(dialog.get_by_role("heading", name="Devices")).to_be_hidden()
    expect(phone.page.get_by_text(SIGNED_OUT)).to_be_visible()


def test_without_a_connection_none_is_ended_and_the_reason_is_shown(people, devices):
    [alice] = people("alice")
    desk, _ = devices(alice, "desk", "phone")
    dialog = settings(desk)
    end = listed(dialog).get_by_role("button", name="Sign out phone")
    expect(end).to_be_visible()
    desk.person.context.set_offline(True)
    end.click()
    confirm(desk)
    expect(dialog.get_by_role("alert")).to_have_text("The server cannot be reached.")
    expect(listed(dialog)).to_have_count(2)
    dialog.get_by_role("button", name="Close").click()
    dialog = settings(desk)
    expect(dialog.get_by_text("You have blocked nobody.")).to_be_visible()
    expect(listed(dialog)).to_have_count(0)
    desk.person.context.set_offline(False)
    expect(desk.page.get_by_text("No connection.")).to_have_count(0)
    dialog.get_by_role("button", name="Close").click()
    expect(listed(settings(desk))).to_have_count(2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_devices(people, devices, scheme):
    alice, bob = people("alice", "bob")
    alice.group("Sunday", bob)
    desk, phone = devices(alice, "desk", "p" * 128, color_scheme=scheme)
    dialog = settings(desk)
    expect(listed(dialog)).to_have_count(2)
    found = violations(desk.page)
    dialog.get_by_role("button", name="Sign out all others").click()
    expect(question(desk)).to_be_visible()
    found += violations(desk.page)
    confirm(desk)
    expect(phone.page.get_by_text(SIGNED_OUT)).to_be_visible()
    assert found + violations(phone.page) == []
